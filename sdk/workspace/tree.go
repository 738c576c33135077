package workspace

import (
	"path/filepath"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// tree is one source directory and where it goes.
type tree struct {
	root, dest int
	path       string // of the source, for messages
	prefix     string // of dest in the copy: "" or ".git"
	// keep says what of the tree is copied; rel is relative to root. Nil: all.
	keep func(rel string, isDir bool) bool
	// merge allows directories that are there already.
	merge bool
}

// dir is a directory while it or something below it is copied. Its descriptors
// are open only while its entries are read and its files copied, and are opened
// anew from the root for its final mode: so neither depth nor breadth of a tree
// costs descriptors.
type dir struct {
	tree      *tree
	parent    *dir
	name      string
	inGit     bool
	src, dest int
	mode      uint32
	mtime     unix.Timespec

	users atomic.Int32 // of src and dest: the listing and batches of files
	refs  atomic.Int32 // users, and subdirectories that are not complete
}

// path returns the path of d in its tree, "" for the root.
func (d *dir) path() string {
	var names []string
	for ; d.parent != nil; d = d.parent {
		names = append(names, d.name)
	}
	var b strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(names[i])
		if i > 0 {
			b.WriteByte('/')
		}
	}
	return b.String()
}

// show returns the source path of an entry of d for a message.
func (d *dir) show(name string) string { return show(filepath.Join(d.tree.path, d.path(), name)) }

func (c *copier) destPath(d *dir, name string) string {
	return filepath.Join(c.dest, d.tree.prefix, d.path(), name)
}
