package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
)

// Report is what Verify found.
type Report struct {
	// Entries counts the entries in front of the first bad line.
	Entries int `json:"entries"`
	// LastSeq and LastHash are those of the last of them. A note of them,
	// kept elsewhere, shows later that nothing was cut off.
	LastSeq  uint64 `json:"last_seq"`
	LastHash string `json:"last_hash"`
	// Torn lists what crashes left: no sign of tampering, and never part
	// of an event that was acknowledged.
	Torn []Torn `json:"torn,omitempty"`
	// Bad is the first line that does not fit; nil where all do.
	Bad *Bad `json:"bad,omitempty"`
}

// Torn is what is left of a write that a crash cut short.
type Torn struct {
	// Line is where it starts, counted from 1.
	Line  int   `json:"line"`
	Bytes int64 `json:"bytes"`
}

// Bad is a line that breaks the chain, and why.
type Bad struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Verify reads the record as it is now and checks its chain. The error is for
// what could not be read; what is wrong with the record is in the report.
func (l *Log) Verify(ctx context.Context) (Report, error) {
	file, size, err := l.snapshot(ctx)
	if err != nil {
		return Report{}, err
	}
	return Verify(io.NewSectionReader(file, 0, size))
}

// Verify checks the chain of the record in r. It uses little memory, whatever
// is in it.
func Verify(r io.Reader) (Report, error) {
	v := verifier{last: genesis}
	in := bufio.NewReaderSize(r, maxLine)
	for atStart := true; v.report.Bad == nil; {
		// A chunk is a line, the last one without newline, or a part of one
		// that is too long for an entry.
		chunk, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return v.report, fmt.Errorf("read the audit log: %w", err)
		}
		if len(chunk) > 0 {
			v.chunk(chunk, atStart)
		}
		if err == io.EOF {
			v.finish()
			break
		}
		atStart = err == nil
	}
	v.report.LastSeq, v.report.LastHash = v.last.Seq, v.last.Hash
	return v.report, nil
}

type verifier struct {
	report Report
	line   int
	last   Entry
	piece  *piece // what is no entry, up to here
}

// piece is a run of bytes that is no entry, described as by describeTorn but
// without holding it.
type piece struct {
	line    int
	bytes   int64
	sum     hash.Hash
	newline bool // ends in one that is not counted yet
	zeros   bool
}

func (v *verifier) chunk(chunk []byte, atStart bool) {
	if atStart {
		v.line++
		line := bytes.TrimSuffix(chunk, []byte("\n"))
		if e, ok := parse(line); ok {
			v.entry(line, e)
			return
		}
	}
	v.add(chunk)
}

// add takes bytes that are no entry.
func (v *verifier) add(chunk []byte) {
	if v.piece == nil {
		v.piece = &piece{line: v.line, sum: sha256.New()}
	}
	p := v.piece
	if p.newline {
		p.sum.Write([]byte("\n"))
		p.bytes++
	}
	if p.newline = chunk[len(chunk)-1] == '\n'; p.newline {
		chunk = chunk[:len(chunk)-1]
	}
	p.sum.Write(chunk)
	p.bytes += int64(len(chunk))
	p.zeros = p.zeros || bytes.IndexByte(chunk, 0) >= 0
}

func (p *piece) matches(details map[string]string) bool {
	return details["bytes"] == strconv.FormatInt(p.bytes, 10) &&
		details["sha256"] == hashPrefix+hex.EncodeToString(p.sum.Sum(nil))
}

func (v *verifier) bad(line int, format string, args ...any) {
	v.report.Bad = &Bad{Line: line, Reason: fmt.Sprintf(format, args...)}
}

// entry checks a line that has the form of an entry.
func (v *verifier) entry(line []byte, e Entry) {
	p := v.piece
	v.piece = nil
	switch {
	case p != nil && (e.Action != ActionTorn || !p.matches(e.Details)):
		v.bad(p.line, "it is not an audit entry")
	case p == nil && e.Action == ActionTorn:
		v.bad(v.line, "the torn piece that it describes is not in front of it")
	case !intact(line, e):
		v.bad(v.line, "it was edited: its hash is not that of its content")
	case v.last.Seq == 0 && e.Seq != 1:
		v.bad(v.line, "the log begins with entry %d: those before it were removed", e.Seq)
	case e.Seq > v.last.Seq+1:
		v.bad(v.line, "entry %d follows entry %d: what was between was removed or moved", e.Seq, v.last.Seq)
	case e.Seq <= v.last.Seq:
		v.bad(v.line, "entry %d follows entry %d: it was moved or repeated", e.Seq, v.last.Seq)
	case e.Prev != v.last.Hash:
		v.bad(v.line, "it does not continue the entry before: one of them was replaced")
	default:
		if p != nil {
			v.report.Torn = append(v.report.Torn, Torn{Line: p.line, Bytes: p.bytes})
		}
		v.report.Entries++
		v.last = e
	}
}

// finish judges a piece at the end, which no entry describes yet.
func (v *verifier) finish() {
	switch p := v.piece; {
	case p == nil || v.report.Bad != nil:
	case p.newline && !p.zeros:
		v.bad(p.line, "it is not an audit entry")
	default:
		v.report.Torn = append(v.report.Torn, Torn{Line: p.line, Bytes: p.bytes})
	}
}
