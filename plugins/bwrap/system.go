package main

import (
	"os"
	"path/filepath"
)

// topLevel are the directories of programs and libraries. On a merged system
// all but /usr are links into it.
var topLevel = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcDirs and etcFiles are what programs need of /etc and holds no secret. Users,
// hosts and resolver are made, not shown; keys, tokens and site configuration
// stay out. The entries are patterns of path/filepath.
//
// Directories are mounted; files are copied, since bwrap reads all mounts anew
// for each that it makes.
var (
	etcDirs = []string{
		"/etc/alternatives",
		"/etc/crypto-policies",
		"/etc/fonts",
		"/etc/java-*-openjdk",
		"/etc/pki/ca-trust",
		"/etc/pki/tls/certs",
		"/etc/ssl/certs",
	}
	etcFiles = []string{
		"/etc/debian_version",
		"/etc/gai.conf",
		"/etc/inputrc",
		"/etc/ld.so.cache",
		"/etc/localtime",
		"/etc/magic",
		"/etc/mime.types",
		"/etc/os-release",
		"/etc/protocols",
		"/etc/services",
		"/etc/ssl/openssl.cnf",
		"/etc/timezone",
	}
)

// systemMounts lists what of the host appears inside, in the order of mounting.
// A top-level link stays a link; a link in /etc is followed by bwrap, which
// shows its target under the name.
func systemMounts(topLevel, etcDirs []string) []mount {
	var ms []mount
	for _, p := range topLevel {
		fi, err := os.Lstat(p)
		if err != nil {
			continue
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			ms = append(ms, mount{path: p})
		} else if target, err := os.Readlink(p); err == nil {
			ms = append(ms, mount{path: p, link: target})
		}
	}
	for _, p := range matching(etcDirs) {
		if fi, err := os.Stat(p); err == nil && fi.IsDir() {
			ms = append(ms, mount{path: p})
		}
	}
	return ms
}

// matching lists what is there of patterns, which are constants.
func matching(patterns []string) (paths []string) {
	for _, p := range patterns {
		found, err := filepath.Glob(p)
		if err != nil {
			panic(err)
		}
		paths = append(paths, found...)
	}
	return paths
}

// openSystemFiles opens the files of the host that are copied. One that not
// everybody may read is left out. The caller closes them.
func openSystemFiles(patterns []string) (files []*os.File) {
	for _, p := range matching(patterns) {
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Mode()&0o004 == 0 {
			f.Close()
			continue
		}
		files = append(files, f)
	}
	return files
}

// syntheticFiles are the files of /etc that are the sandbox's own. With hosts
// from files alone a name fails at once, not after a resolver's timeout.
func syntheticFiles() []file {
	return []file{
		{"/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n" +
			"sandbox:x:1000:1000:sandbox:/home/sandbox:/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
		{"/etc/group", "root:x:0:\nsandbox:x:1000:\nnogroup:x:65534:\n"},
		{"/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost sandbox\n"},
		{"/etc/hostname", insideName + "\n"},
		{"/etc/resolv.conf", "# There is no network in this sandbox.\n"},
		{"/etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\n" +
			"protocols: files\nservices: files\nethers: files\nrpc: files\n"},
	}
}
