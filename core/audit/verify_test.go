package audit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chain returns n sealed lines, each with its newline.
func chain(tb testing.TB, n int) [][]byte {
	tb.Helper()
	var lines [][]byte
	last := genesis
	for i := range n {
		e := event
		e.ExecID = fmt.Sprintf("exec-%d", i+1)
		line, entry, err := seal(nil, e.bounded(), last)
		if err != nil {
			tb.Fatal(err)
		}
		lines, last = append(lines, line), entry
	}
	return lines
}

// forge seals line n anew with another content, as somebody would who knows
// the format.
func forge(t *testing.T, lines [][]byte, n int) {
	t.Helper()
	last := genesis
	if n > 0 {
		last, _ = parse(bytes.TrimSuffix(lines[n-1], []byte("\n")))
	}
	line, _, err := seal(nil, Event{Time: event.Time, Action: "forged"}, last)
	if err != nil {
		t.Fatal(err)
	}
	lines[n] = line
}

func TestTamperingIsFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		tamper func(l [][]byte) [][]byte
		line   int
		reason string
	}{
		{"an edited line", func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte("exec-3"), []byte("exec-9"), 1)
			return l
		}, 3, "edited"},
		{"an added space", func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte(`:"exec-3"`), []byte(`: "exec-3"`), 1)
			return l
		}, 3, "edited"},
		{"an edited hash", func(l [][]byte) [][]byte {
			l[2] = append(l[2][:len(l[2])-5], []byte("000\"}\n")[1:]...)
			return l
		}, 3, ""},
		{"an edited last line", func(l [][]byte) [][]byte {
			l[4] = bytes.Replace(l[4], []byte("exited"), []byte("failed"), 1)
			return l
		}, 5, "edited"},
		{"a line sealed anew", func(l [][]byte) [][]byte { forge(t, l, 2); return l }, 4, "one of them was replaced"},
		{"a removed line", func(l [][]byte) [][]byte { return append(l[:2], l[3:]...) }, 3, "entry 4 follows entry 2"},
		{"a cut head", func(l [][]byte) [][]byte { return l[2:] }, 1, "begins with entry 3"},
		{"swapped lines", func(l [][]byte) [][]byte { l[2], l[3] = l[3], l[2]; return l }, 3, "entry 4 follows entry 2"},
		{"a repeated line", func(l [][]byte) [][]byte { return append(l[:3], l[2:]...) }, 4, "moved or repeated"},
		{"a strange line", func(l [][]byte) [][]byte { l[2] = []byte("{}\n"); return l }, 3, "not an audit entry"},
		{"a strange line at the end", func(l [][]byte) [][]byte { return append(l, []byte("{}\n")) }, 6, "not an audit entry"},
		{"an empty line", func(l [][]byte) [][]byte { l[2] = append([]byte("\n"), l[2]...); return l }, 3, "not an audit entry"},
		{"a line that is too long", func(l [][]byte) [][]byte {
			l[2] = append(bytes.Repeat([]byte("x"), 3*maxLine), l[2]...)
			return l
		}, 3, "not an audit entry"},
		{"zeros that no entry describes", func(l [][]byte) [][]byte { l[2] = []byte("\x00\x00\n"); return l }, 3, "not an audit entry"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := Verify(bytes.NewReader(bytes.Join(test.tamper(chain(t, 5)), nil)))
			if err != nil {
				t.Fatal(err)
			}
			if r.Bad == nil || r.Bad.Line != test.line || !strings.Contains(r.Bad.Reason, test.reason) {
				t.Errorf("bad line is %+v, want line %d because %q", r.Bad, test.line, test.reason)
			}
		})
	}
}

func TestWholeChainIsGood(t *testing.T) {
	lines := chain(t, 5)
	r, err := Verify(bytes.NewReader(bytes.Join(lines, nil)))
	last, _ := parse(bytes.TrimSuffix(lines[4], []byte("\n")))
	want := Report{Entries: 5, LastSeq: 5, LastHash: last.Hash}
	if diff := cmp.Diff(want, r); diff != "" || err != nil {
		t.Errorf("report differs, %v (-want +got):\n%s", err, diff)
	}
	r, err = Verify(strings.NewReader(""))
	if diff := cmp.Diff(Report{LastHash: genesis.Hash}, r); diff != "" || err != nil {
		t.Errorf("report of an empty log differs, %v (-want +got):\n%s", err, diff)
	}
}

// Each piece is what a crash may leave at the end of the file.
func TestTornPieceIsSetAside(t *testing.T) {
	next := chain(t, 4)[3]
	for name, piece := range map[string][]byte{
		"one byte":                 next[:1],
		"half a line":              next[:len(next)/2],
		"all but the seal":         next[:len(next)-3],
		"zeros":                    make([]byte, 3*firstWindow),
		"a line with lost blocks":  append(make([]byte, 100), next[100:]...),
		"torn again while mending": append(append([]byte("half a li"), '\n'), next[:9]...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, FileName)
			content := append(bytes.Join(chain(t, 3), nil), piece...)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			l := openLog(t, dir)
			length := int64(len(bytes.TrimSuffix(piece, []byte("\n"))))
			want := []Torn{{Line: 4, Bytes: length}}
			check := func(entries int) {
				t.Helper()
				r, err := l.Verify(t.Context())
				if err != nil || r.Bad != nil || r.Entries != entries || !cmp.Equal(r.Torn, want) {
					t.Errorf("report is %+v (bad %+v), %v; want %d entries and %v", r, r.Bad, err, entries, want)
				}
			}
			check(3)
			appendTo(t, l, event)
			check(5) // with the one that describes the piece
			appendTo(t, l, event)
			check(6)
			after, err := os.ReadFile(path)
			if err != nil || !bytes.HasPrefix(after, content) {
				t.Errorf("the piece is not where it was (%v)", err)
			}
			after[len(content)-1] ^= 1 // nor may it be changed later
			if r, err := Verify(bytes.NewReader(after)); err != nil || r.Bad == nil || r.Bad.Line != 4 {
				t.Errorf("after an edit of the piece the report is %+v, %v", r, err)
			}
		})
	}
}

func TestLineWithoutItsNewlineCounts(t *testing.T) {
	dir := t.TempDir()
	content := bytes.Join(chain(t, 3), nil)
	if err := os.WriteFile(filepath.Join(dir, FileName), content[:len(content)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	l := openLog(t, dir)
	for entries := 3; entries <= 4; entries++ {
		r, err := l.Verify(t.Context())
		if err != nil || r.Bad != nil || r.Torn != nil || r.Entries != entries {
			t.Errorf("report is %+v (bad %+v), %v; want %d entries", r, r.Bad, err, entries)
		}
		appendTo(t, l, event)
	}
}

func TestRemovedTornPieceIsFound(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, FileName)
	if err := os.WriteFile(path, append(bytes.Join(chain(t, 3), nil), "torn"...), 0o600); err != nil {
		t.Fatal(err)
	}
	appendTo(t, openLog(t, dir), event)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Verify(bytes.NewReader(bytes.Replace(content, []byte("torn\n"), nil, 1)))
	if err != nil || r.Bad == nil || r.Bad.Line != 4 || !strings.Contains(r.Bad.Reason, "not in front of it") {
		t.Errorf("report is %+v (bad %+v), %v", r, r.Bad, err)
	}
}

func TestAppendDoesNotMendAnEdit(t *testing.T) {
	for name, tamper := range map[string]func([][]byte) [][]byte{
		"an edited last line": func(l [][]byte) [][]byte {
			l[2] = bytes.Replace(l[2], []byte("exited"), []byte("failed"), 1)
			return l
		},
		"a strange last line": func(l [][]byte) [][]byte { l[2] = []byte("{}\n"); return l },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, FileName), bytes.Join(tamper(chain(t, 3)), nil), 0o600); err != nil {
				t.Fatal(err)
			}
			l := openLog(t, dir)
			appendTo(t, l, event)
			r, err := l.Verify(t.Context())
			if err != nil || r.Bad == nil || r.Bad.Line != 3 {
				t.Errorf("report is %+v (bad %+v), %v; want line 3 bad", r, r.Bad, err)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	good := bytes.Join(chain(f, 3), nil)
	f.Add(good)
	f.Add(good[:len(good)-7])
	f.Add(bytes.Replace(good, []byte("exec-2"), []byte("exec-7"), 1))
	f.Add([]byte("\x00\n\n{}\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := Verify(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		// Whatever is in the file, an append works and neither mends nor
		// breaks it.
		end, err := readEnd(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := end.follow(event)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Verify(bytes.NewReader(append(content, lines...)))
		if err != nil {
			t.Fatal(err)
		}
		if good, goodAfter := r.Bad == nil, after.Bad == nil; good != goodAfter {
			t.Errorf("verdict was %+v, and after an append %+v", r.Bad, after.Bad)
		}
		if r.Bad == nil && !cmp.Equal(r.Torn, after.Torn) {
			t.Errorf("torn was %v, and after an append %v", r.Torn, after.Torn)
		}
	})
}
