package extension

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"unicode"

	"github.com/hashicorp/go-hclog"
)

const maxLogLine = 16 << 10

// logReader turns what a plugin writes to stderr into lines that go-plugin's
// log reader can take: it panics on a JSON line whose "@message" is no string.
type logReader struct {
	lines *bufio.Reader
	words *lastWords
	rest  []byte // of a line that was read and not yet passed on
}

func newLogReader(r io.Reader, words *lastWords) *logReader {
	return &logReader{lines: bufio.NewReaderSize(r, maxLogLine), words: words}
}

// Read ends with io.EOF when the pipe does, or when its deadline passed: a
// process that the plugin left behind may hold the other end for ever.
func (r *logReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		line, err := r.lines.ReadSlice('\n')
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || err == nil:
		case len(line) == 0 && errors.Is(err, os.ErrDeadlineExceeded):
			return 0, io.EOF
		case len(line) == 0:
			return 0, err
		}
		r.words.add(line)
		r.rest = append(sanitizeLogLine(line), '\n')
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// sanitizeLogLine returns line without control characters and, where it is
// JSON that is no log record, so that it is not taken for one.
func sanitizeLogLine(line []byte) []byte {
	line = bytes.Map(func(r rune) rune {
		if r != '\t' && unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, line)
	var record map[string]any
	if json.Unmarshal(line, &record) != nil {
		return line
	}
	for _, key := range []string{"@message", "@level", "@timestamp"} {
		value, ok := record[key]
		if !ok {
			continue
		}
		if s, ok := value.(string); !ok || strings.ContainsFunc(s, unicode.IsControl) {
			return append([]byte("malformed log record: "), line...)
		}
	}
	return line
}

// lastWords keeps what is worth telling of a process that ended: the reason of
// a panic, else the last line.
type lastWords struct {
	mu     sync.Mutex
	reason string // of a panic
	last   string
}

func (w *lastWords) add(line []byte) {
	const most = 300
	words := strings.ToValidUTF8(string(line[:min(len(line), most)]), "")
	if strings.TrimSpace(words) == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = words
	if w.reason == "" && (strings.HasPrefix(words, "panic: ") || strings.HasPrefix(words, "fatal error: ")) {
		w.reason = words
	}
}

// String is empty when nothing was said.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reason != "" {
		return w.reason
	}
	return w.last
}

// logWriter logs what a plugin prints by os.Stdout and os.Stderr, which
// go-plugin carries over gRPC.
type logWriter struct{ log hclog.Logger }

func (w logWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			w.log.Debug(string(sanitizeLogLine(line)))
		}
	}
	return len(p), nil
}
