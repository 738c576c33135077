package sdk

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrorKeepsItsCause(t *testing.T) {
	err := fmt.Errorf("while copying: %w", Errorf(CodeSourceInvalid, "read %s: %w", "f", fs.ErrNotExist).WithHint("try %s", "g").WithField("/inputs/repo"))
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if CodeOf(err) != CodeSourceInvalid || !errors.Is(err, &Error{Code: CodeSourceInvalid}) || errors.Is(err, &Error{Code: CodeDiskFull}) {
		t.Errorf("code %s", CodeOf(err))
	}
	e := AsError(err)
	if want := "while copying: read f: file does not exist"; e.Message != want || e.Hint != "try g" || e.Field != "/inputs/repo" {
		t.Errorf("error %+v, want message %q", e, want)
	}
}

func TestErrorWithoutACodeIsInternal(t *testing.T) {
	if e := AsError(errors.New("odd")); e.Code != CodeInternal || e.Message != "odd" {
		t.Errorf("error %+v", e)
	}
	if CodeOf(nil) != "" || AsError(nil) != nil {
		t.Error("nil is an error")
	}
}

func TestWithHintLeavesTheOriginal(t *testing.T) {
	e := Errorf(CodeInternal, "m")
	if e.WithHint("h"); e.Hint != "" {
		t.Error("WithHint changed its receiver")
	}
}

func TestValidSandboxID(t *testing.T) {
	for id, want := range map[string]bool{
		"sbx-01arz3ndektsv4rrffq69g5fav":   true,
		"sbx-7zzzzzzzzzzzzzzzzzzzzzzzzz":   true,
		"sbx-8zzzzzzzzzzzzzzzzzzzzzzzzz":   false, // over 128 bits
		"sbx-01ARZ3NDEKTSV4RRFFQ69G5FAV":   false,
		"sbx-01arz3ndektsv4rrffq69g5fai":   false, // i, l, o, u are no digits
		"sbx-01arz3ndektsv4rrffq69g5fa":    false,
		"sbx-01arz3ndektsv4rrffq69g5fav\n": false,
		"sbx-../../../../../../../../../":  false,
		"":                                 false,
	} {
		if got := ValidSandboxID(id); got != want {
			t.Errorf("ValidSandboxID(%q) = %v", id, got)
		}
	}
}
