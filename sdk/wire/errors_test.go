package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tegwick/sand-boxer/sdk"
)

func TestEveryCodeCrossesTheWireWhole(t *testing.T) {
	for code := range grpcCodes {
		want := sdk.Errorf(code, "no room in %s", "/tmp").WithHint("free some").WithField("/ttl")
		got := fromStatus(t.Context(), toStatus(fmt.Errorf("create: %w", want)))
		want.Message = "create: " + want.Message
		if diff := cmp.Diff(error(want), got, cmpopts.IgnoreUnexported(sdk.Error{})); diff != "" {
			t.Errorf("%s (-sent +arrived):\n%s", code, diff)
		}
	}
}

func TestErrorsWithoutACode(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want sdk.Code
	}{
		{"a plain error", errors.New("disk on fire"), sdk.CodeInternal},
		{"a code of no table", &sdk.Error{Code: "made_up", Message: "x"}, sdk.CodeInternal},
		{"the backend's own context", fmt.Errorf("run: %w", context.Canceled), sdk.CodeCanceled},
	}
	for _, test := range tests {
		if got := sdk.CodeOf(fromStatus(t.Context(), toStatus(test.err))); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestStatusesOfNoBackend(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		code codes.Code
		want sdk.Code
		is   error
	}{
		{"connection lost", t.Context(), codes.Unavailable, sdk.CodeBackendFailed, ErrEnded},
		{"connection closed", t.Context(), codes.Canceled, sdk.CodeBackendFailed, ErrEnded},
		{"no such service", t.Context(), codes.Unimplemented, sdk.CodeBackendFailed, nil},
		{"too large", t.Context(), codes.ResourceExhausted, sdk.CodeBackendFailed, nil},
		{"garbage", t.Context(), codes.Internal, sdk.CodeBackendFailed, nil},
		{"caller gone", done, codes.Canceled, sdk.CodeCanceled, context.Canceled},
		{"caller's deadline", t.Context(), codes.DeadlineExceeded, sdk.CodeCanceled, context.DeadlineExceeded},
	}
	for _, test := range tests {
		err := fromStatus(test.ctx, status.Error(test.code, "x"))
		if sdk.CodeOf(err) != test.want || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%s: %s %v, want %s", test.name, sdk.CodeOf(err), err, test.want)
		}
	}
}

func TestStatusFitsIntoHeaders(t *testing.T) {
	for _, long := range []string{strings.Repeat("a", 1<<20), strings.Repeat("€", 1<<18), strings.Repeat("\xff", 1<<16)} {
		e := &sdk.Error{Code: sdk.CodeDiskFull, Message: long, Hint: long, Field: long}
		st := status.Convert(toStatus(e))
		if n := statusBytes(st); n > maxStatusBytes {
			t.Errorf("status takes %d bytes", n)
		}
		got := sdk.AsError(fromStatus(t.Context(), st.Err()))
		if got.Code != sdk.CodeDiskFull || len(got.Message) < 200 || !utf8.ValidString(got.Message) || !strings.HasSuffix(got.Message, "…") {
			t.Errorf("arrived as %s %.300q", got.Code, got.Message)
		}
	}
}

func TestCleanDefusesTerminalControls(t *testing.T) {
	if got := clean("ok\x1b[2J\r\u202eevil\ttab\nline", 100); strings.ContainsAny(got, "\x1b\r\u202e") || !strings.Contains(got, "\ttab\nline") {
		t.Errorf("clean left %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain", 10)
	f.Add("\xff\x1b€", 3)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = max(limit%1000, 3)
		got := clean(s, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("clean(%q, %d) = %q", s, limit, got)
		}
	})
}
