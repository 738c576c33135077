package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestFrame(t *testing.T) {
	want := Request{Op: OpExec, Exec: &Exec{
		Argv: [][]byte{[]byte("a"), {}, {0xff, 0xfe}}, Env: [][]byte{[]byte("K=v")}, Dir: "/", Deadline: 1, GraceMS: 2,
	}}
	b, err := Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	var got Request
	if err := Decode(bytes.NewReader(b), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestFrameRefused(t *testing.T) {
	long := binary.BigEndian.AppendUint32(nil, maxFrame+1)
	var r Request
	if err := Decode(bytes.NewReader(long), &r); err == nil || !strings.Contains(err.Error(), "over the bound") {
		t.Errorf("a frame over the bound: %v", err)
	}
	if err := Decode(bytes.NewReader([]byte{0, 0, 0, 9, '{'}), &r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut frame: %v", err)
	}
	if _, err := Encode(Request{Exec: &Exec{Dir: strings.Repeat("x", maxFrame)}}); err == nil {
		t.Error("a frame over the bound was encoded")
	}
}

func FuzzDecode(f *testing.F) {
	b, err := Encode(Request{Op: OpPing})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		var r Request
		if err := Decode(bytes.NewReader(data), &r); err != nil {
			return
		}
		again, err := Encode(r)
		if err != nil {
			t.Skip() // over the bound once normalised
		}
		var got Request
		if err := Decode(bytes.NewReader(again), &got); err != nil || !reflect.DeepEqual(r, got) {
			t.Errorf("round trip of %+v: %+v, %v", r, got, err)
		}
	})
}

func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		found      bool
	}{
		{"sh", "/bin/sh", true},
		{"/bin/sh", "/bin/sh", true},
		{"./sh", "./sh", true}, // relative to the directory of the command
		{"none-such", "", false},
		{"", "", false},
	} {
		path, found, errno := lookup(tt.name, "/bin", []string{"X=1", "PATH=/nonexistent:/bin"})
		if path != tt.path || found != tt.found || (path == "") == (errno == 0) {
			t.Errorf("lookup(%q) = %q, %v, %v", tt.name, path, found, errno)
		}
	}
}
