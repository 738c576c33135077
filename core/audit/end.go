package audit

import (
	"bytes"
	"io"
	"strconv"

	"github.com/tegwick/sand-boxer/sdk"
)

const (
	// firstWindow holds the last line nearly always.
	firstWindow = 4 << 10
	// maxWindow bounds the memory that a file without an entry can cost.
	maxWindow = 16 << 20
)

// end is what lies at the end of a file.
type end struct {
	// last is the last line that is an entry; genesis where there is none.
	last Entry
	// piece holds the bytes behind it.
	piece []byte
	// open says that the last line has no newline.
	open bool
}

// torn says whether the piece can be what a crash left of a write: it is cut
// off, or has zeros where blocks never reached the disk. Any other piece is
// somebody's edit; it is left for Verify to find.
func (e end) torn() bool {
	return len(e.piece) > 0 && (e.open || bytes.IndexByte(e.piece, 0) >= 0)
}

// follow returns the lines to write behind the end for e to be the next entry.
func (e end) follow(event Event) (lines []byte, err error) {
	last := e.last
	if e.open {
		lines = append(lines, '\n')
	}
	if e.torn() {
		torn := Event{Time: event.Time, Action: ActionTorn, Details: describeTorn(e.piece)}
		if lines, last, err = seal(lines, torn, last); err != nil {
			return nil, err
		}
	}
	lines, _, err = seal(lines, event, last)
	return lines, err
}

// describeTorn describes a piece by its content without the newline, which may
// come from whoever set it aside.
func describeTorn(piece []byte) map[string]string {
	piece = bytes.TrimSuffix(piece, []byte("\n"))
	return map[string]string{"bytes": strconv.Itoa(len(piece)), "sha256": digest(piece)}
}

// readEnd finds the end of the first size bytes of r, reading no more of it
// than it takes to see one entry.
func readEnd(r io.ReaderAt, size int64) (end, error) {
	for window := int64(firstWindow); ; window *= 4 {
		lines, start, err := readBack(r, size, window)
		if err != nil {
			return end{}, err
		}
		found := end{last: genesis, piece: lines, open: len(lines) > 0 && !bytes.HasSuffix(lines, []byte("\n"))}
		for before := lines; len(before) > 0; {
			from := bytes.LastIndexByte(before[:len(before)-1], '\n') + 1
			if from == 0 && start > 0 {
				break // its beginning is not in the window
			}
			if e, ok := parse(bytes.TrimSuffix(before[from:], []byte("\n"))); ok {
				found.last, found.piece = e, lines[len(before):]
				return found, nil
			}
			before = before[:from]
		}
		if start == 0 {
			return found, nil
		}
		if window >= maxWindow {
			return end{}, sdk.Errorf(sdk.CodeInternal, "the audit log has no entry in its last %d bytes", len(lines)).
				WithHint("run 'sandboxer audit verify', and move the damaged file away to begin a new one")
		}
	}
}

// readBack reads the last window of the first size bytes of r, and says where
// it starts.
func readBack(r io.ReaderAt, size, window int64) (lines []byte, start int64, err error) {
	start = max(0, size-window)
	lines = make([]byte, size-start)
	if n, err := r.ReadAt(lines, start); n < len(lines) {
		return nil, 0, err
	}
	return lines, start, nil
}
