package audit

import (
	"bytes"
	"context"
	"os"
	"slices"
	"syscall"
)

// Tail returns the last n entries, oldest first. Lines that are no entries are
// left out.
func (l *Log) Tail(ctx context.Context, n int) ([]Entry, error) {
	file, size, err := l.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	for window := int64(firstWindow); ; window *= 4 {
		lines, start, err := readBack(file, size, window)
		if err != nil {
			return nil, l.explain("read", err)
		}
		if start > 0 { // the first line may lack its beginning
			lines = lines[bytes.IndexByte(lines, '\n')+1:]
		}
		entries := lastEntries(lines, n)
		if len(entries) >= n || start == 0 {
			return entries, nil
		}
	}
}

func lastEntries(lines []byte, n int) []Entry {
	var entries []Entry
	for len(lines) > 0 && len(entries) < n {
		from := bytes.LastIndexByte(lines[:len(lines)-1], '\n') + 1
		if e, ok := parse(bytes.TrimSuffix(lines[from:], []byte("\n"))); ok {
			entries = append(entries, e)
		}
		lines = lines[:from]
	}
	slices.Reverse(entries)
	return entries
}

// snapshot returns the file and its size at a time when nobody writes. As the
// file only grows, what is before that size can be read without the lock.
func (l *Log) snapshot(ctx context.Context) (file *os.File, size int64, err error) {
	err = l.locked(ctx, syscall.LOCK_SH, func() error {
		info, err := l.file.Stat()
		if err == nil {
			file, size = l.file, info.Size()
		}
		return err
	})
	if err != nil {
		return nil, 0, l.explain("read", err)
	}
	return file, size, nil
}
