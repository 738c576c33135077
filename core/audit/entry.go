package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of the parts of an event, in bytes.
const (
	maxWord    = 64
	maxID      = 128
	maxName    = 32
	maxValue   = 256
	maxDetails = 8
	// maxLine is more than the longest line they can make.
	maxLine = 64 << 10
)

// Entry is a line of the record.
type Entry struct {
	// Seq counts the entries from 1.
	Seq uint64 `json:"seq"`
	Event
	// Prev is the Hash of the entry before; that of the first is all zeros.
	Prev string `json:"prev"`
	// Hash is "sha256:" and the hexadecimal digest of the line without its
	// newline and without this field, the last.
	Hash string `json:"hash,omitempty"`
}

const (
	hashPrefix = "sha256:"
	sealStart  = `,"hash":"` + hashPrefix
	sealEnd    = `"}`
	sealLen    = len(sealStart) + 2*sha256.Size + len(sealEnd)
)

// genesis stands before the first entry.
var genesis = Entry{Hash: hashPrefix + strings.Repeat("0", 2*sha256.Size)}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hashPrefix + hex.EncodeToString(sum[:])
}

// seal appends to out the line of the entry that holds e and follows last.
func seal(out []byte, e Event, last Entry) ([]byte, Entry, error) {
	entry := Entry{Seq: last.Seq + 1, Event: e, Prev: last.Hash}
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entry); err != nil {
		return out, Entry{}, err
	}
	body := bytes.TrimSuffix(line.Bytes(), []byte("\n"))
	entry.Hash = digest(body)
	out = append(out, body[:len(body)-1]...)
	out = append(out, `,"hash":"`...)
	out = append(out, entry.Hash...)
	return append(out, sealEnd+"\n"...), entry, nil
}

// parse reads a line, without its newline, that has the form of an entry.
// Whether its hash is right it does not say.
func parse(line []byte) (Entry, bool) {
	if len(line) < sealLen || len(line) >= maxLine || !bytes.HasPrefix(line[len(line)-sealLen:], []byte(sealStart)) {
		return Entry{}, false
	}
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil || e.Seq == 0 {
		return Entry{}, false
	}
	return e, true
}

// intact says whether the hash that a parsed line ends in is its own. It works
// on the bytes, so that no edit can hide in how they are read.
func intact(line []byte, e Entry) bool {
	cut := len(line) - sealLen
	h := sha256.New()
	h.Write(line[:cut])
	h.Write([]byte("}"))
	sum := hashPrefix + hex.EncodeToString(h.Sum(nil))
	return sum == e.Hash && string(line[cut:]) == `,"hash":"`+sum+sealEnd
}

// bounded returns e with each part cut to its bound.
func (e Event) bounded() Event {
	e.Time = e.Time.UTC().Truncate(time.Millisecond)
	e.Action = shorten(e.Action, maxWord)
	e.Outcome = shorten(e.Outcome, maxWord)
	e.Code = shorten(e.Code, maxWord)
	e.SandboxID = shorten(e.SandboxID, maxID)
	e.ExecID = shorten(e.ExecID, maxID)
	e.Consumer = Consumer{
		Actor:     shorten(e.Consumer.Actor, maxID),
		Project:   shorten(e.Consumer.Project, maxID),
		SessionID: shorten(e.Consumer.SessionID, maxID),
		RunID:     shorten(e.Consumer.RunID, maxID),
	}
	details := make(map[string]string, len(e.Details))
	for name, value := range e.Details {
		details[shorten(name, maxName)] = shorten(value, maxValue)
	}
	e.Details = details
	return e
}

// shorten returns s as valid UTF-8 of at most n bytes.
func shorten(s string, n int) string {
	const mark = "…"
	if len(s) > n {
		cut := n - len(mark)
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + mark
	}
	// One byte for each that is not text: the length does not grow.
	return strings.ToValidUTF8(s, "?")
}
