package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/tegwick/sand-boxer/sdk"
)

// Range is a place in a profile. Line and Column start at 1; a column is a
// character as a person counts them.
type Range struct {
	File         string
	Line, Column int
}

// String returns FILE:LINE:COLUMN.
func (r Range) String() string { return fmt.Sprintf("%s:%d:%d", clean(r.File), r.Line, r.Column) }

func rangeOf(r hcl.Range) Range {
	return Range{File: r.Filename, Line: r.Start.Line, Column: r.Start.Column}
}

// Diagnostic is one thing that is wrong in a profile.
type Diagnostic struct {
	Severity sdk.Severity
	Range    Range
	// Message is one sentence, lower case, without a final stop.
	Message string
	// Hint says what to type; empty when there is nothing.
	Hint string
	// Values holds the inputs that the value at fault refers to, each as
	// `input.NAME = "value"`.
	Values []string

	start, end int // bytes of the source
}

// Diagnostics is the error of a profile: at least one error, then warnings, each
// in the order of the file. It unwraps to an *[sdk.Error] with [sdk.CodeInvalidProfile].
type Diagnostics struct {
	// Items holds at most [MaxItems] diagnostics.
	Items []Diagnostic
	// Omitted counts those that were left out.
	Omitted int

	src []byte
}

// MaxItems bounds the diagnostics that are kept of one profile.
const MaxItems = 20

// newDiagnostics translates diags, of which at least one is an error.
func newDiagnostics(file string, src []byte, diags hcl.Diagnostics) *Diagnostics {
	// hcl reports unknown arguments in random order.
	diags = slices.Clone(diags)
	slices.SortStableFunc(diags, func(a, b *hcl.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(startByte(a), startByte(b)), cmp.Compare(a.Summary, b.Summary))
	})
	d := &Diagnostics{src: src, Omitted: max(0, len(diags)-MaxItems)}
	for _, diag := range diags[:len(diags)-d.Omitted] {
		d.Items = append(d.Items, translate(file, src, diag))
	}
	return d
}

func startByte(d *hcl.Diagnostic) int {
	if d.Subject == nil {
		return 0
	}
	return d.Subject.Start.Byte
}

// Error returns "FILE:LINE:COLUMN: message" of the first error, and how many
// more there are.
func (d *Diagnostics) Error() string {
	s := d.Items[0].Range.String() + ": " + d.Items[0].Message
	if more := len(d.Items) + d.Omitted - 1; more > 0 {
		s += fmt.Sprintf(" (and %d more)", more)
	}
	return s
}

// Unwrap returns the *[sdk.Error] of the first error, with its hint.
func (d *Diagnostics) Unwrap() error {
	return &sdk.Error{Code: sdk.CodeInvalidProfile, Message: d.Error(), Hint: d.Items[0].Hint}
}

// maxMessage bounds a message or a hint: a plugin's may have any length.
const maxMessage = 500

// clean makes text safe to show on one line of a terminal. Profiles, requests
// and plugins could otherwise send escape sequences to whoever reads the error.
func clean(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n++; n > maxMessage {
			b.WriteString("…")
			break
		}
		b.WriteRune(printable(r))
	}
	return b.String()
}

func printable(r rune) rune {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return ' '
	case unicode.IsPrint(r):
		return r
	}
	return unicode.ReplacementChar
}
