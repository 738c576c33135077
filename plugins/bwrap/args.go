package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/broker"
	"github.com/tegwick/sand-boxer/sdk"
)

// The user inside, the same whatever the uid outside.
const (
	insideUID  = 1000
	insideName = "sandbox"
	insideHome = "/home/sandbox"
	brokerPath = "/run/sandboxer/broker"
)

// Bounds of the memory file systems inside, where bwrap can set them.
const (
	runBytes = 64 << 20
	shmBytes = 1 << 30
)

// mount is a host file or directory that appears read-only inside, or, when
// link is set, a symbolic link made there.
type mount struct{ path, link string }

// file is a file made inside.
type file struct {
	path, content string
}

// view is all that the sandbox sees, decided before anything is made.
type view struct {
	dir    sandboxDir
	broker string
	// system are the host's read-only trees.
	system []mount
	// files are the paths of the files that bwrap makes inside, each from a
	// descriptor. firstFD is that of the first; the others follow.
	files   []string
	firstFD int
	// source is the directory that was copied; it stays out of sight even
	// where it lies in one of those trees.
	source  string
	infoFD  int
	options map[string]bool
}

// args returns bwrap's options. What cannot be unshared fails the start: no
// "-try" option is used.
func (v view) args() []string {
	a := []string{
		"--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup",
		"--uid", strconv.Itoa(insideUID), "--gid", strconv.Itoa(insideUID),
		"--hostname", insideName,
		"--cap-drop", "ALL",
		"--new-session", "--as-pid-1",
		"--info-fd", strconv.Itoa(v.infoFD),
	}
	if v.options["--disable-userns"] {
		a = append(a, "--disable-userns")
	}
	// Made first, or bwrap would make them for their owner alone.
	a = append(a, "--dir", "/etc", "--dir", "/home", "--dir", "/var")
	for _, m := range v.system {
		if m.link != "" {
			a = append(a, "--symlink", m.link, m.path)
		} else {
			a = append(a, "--ro-bind", m.path, m.path)
		}
	}
	if v.shows(v.source) {
		a = append(a, "--perms", "0000", "--tmpfs", v.source)
	}
	for i, f := range v.files {
		a = append(a, "--perms", "0444", "--file", strconv.Itoa(v.firstFD+i), f)
	}
	a = append(a, "--proc", "/proc", "--dev", "/dev")
	a = append(a, v.tmpfs("/dev/shm", "1777", shmBytes)...)
	a = append(a, "--remount-ro", "/dev")
	a = append(a, v.tmpfs("/run", "0755", runBytes)...)
	return append(a,
		"--ro-bind", v.broker, brokerPath,
		"--symlink", "/run", "/var/run", "--symlink", "/tmp", "/var/tmp",
		"--bind", v.dir.tmp(), "/tmp",
		"--bind", v.dir.home(), insideHome,
		"--bind", v.dir.workspace(), sdk.WorkspaceDir,
		"--remount-ro", "/",
		"--chdir", sdk.WorkspaceDir,
	)
}

// shows reports whether a path of the host is in one of the system trees.
func (v view) shows(path string) bool {
	for _, m := range v.system {
		if m.link == "" && strings.HasPrefix(path, m.path+"/") {
			return true
		}
	}
	return false
}

func (v view) tmpfs(path, perms string, size int) []string {
	a := []string{"--perms", perms}
	if v.options["--size"] {
		a = append(a, "--size", strconv.Itoa(size))
	}
	return append(a, "--tmpfs", path)
}

// command is what runs as pid 1 inside.
func command(id string, expiresMS int64) []string {
	return []string{brokerPath, broker.Arg0, id, strconv.FormatInt(expiresMS, 10)}
}

// belongsTo reports whether argv is that of a process that holds the
// namespaces of the sandbox id: bwrap outside, or the broker inside.
func belongsTo(argv []string, id string) bool {
	i := slices.Index(argv, broker.Arg0)
	return i >= 1 && argv[i-1] == brokerPath && i+1 < len(argv) && argv[i+1] == id
}

// environment is what every command starts with. Nothing of the host's is in
// it.
func environment() map[string]string {
	return map[string]string{
		"PATH":    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":    insideHome,
		"USER":    insideName,
		"LOGNAME": insideName,
		"SHELL":   "/bin/sh",
		"LANG":    "C.UTF-8",
		"TMPDIR":  "/tmp",
		"PWD":     sdk.WorkspaceDir,
	}
}
