package main

import (
	"os"
	"path/filepath"
)

// topLevel are the directories of programs and libraries. On a merged system
// all but /usr are links into it.
var topLevel = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// etcFiles is what programs need of /etc and holds no secret. Users, hosts and
// resolver are made, not shown; keys, tokens and site configuration stay out.
// The entries are patterns of path/filepath.
var etcFiles = []string{
	"/etc/alternatives",
	"/etc/ca-certificates",
	"/etc/ca-certificates.conf",
	"/etc/crypto-policies",
	"/etc/debian_version",
	"/etc/ethertypes",
	"/etc/fonts",
	"/etc/gai.conf",
	"/etc/inputrc",
	"/etc/java-*-openjdk",
	"/etc/ld.so.cache",
	"/etc/ld.so.conf",
	"/etc/ld.so.conf.d",
	"/etc/localtime",
	"/etc/magic",
	"/etc/mime.types",
	"/etc/os-release",
	"/etc/perl",
	"/etc/pki/ca-trust",
	"/etc/pki/tls/certs",
	"/etc/protocols",
	"/etc/python3",
	"/etc/rpc",
	"/etc/services",
	"/etc/shells",
	"/etc/ssl/certs",
	"/etc/ssl/openssl.cnf",
	"/etc/terminfo",
	"/etc/timezone",
	"/etc/xattr.conf",
}

// systemMounts lists what of the host appears inside, in the order of mounting.
// A top-level link stays a link; a link in /etc is followed by bwrap, which
// shows its target under the name.
func systemMounts(topLevel, etc []string) []mount {
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
	for _, pattern := range etc {
		matches, _ := filepath.Glob(pattern) // the patterns are constants
		for _, p := range matches {
			if _, err := os.Stat(p); err == nil {
				ms = append(ms, mount{path: p})
			}
		}
	}
	return ms
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
