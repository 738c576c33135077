package profile

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/tegwick/sand-boxer/sdk"
	"golang.org/x/text/width"
)

// maxSnippet is how many characters of a line are shown.
const maxSnippet = 120

// Render writes every diagnostic with its line of the profile, a mark under the
// text at fault, the values of the inputs in it, and the hint. With color the
// marks are coloured by ANSI sequences.
func (d *Diagnostics) Render(w io.Writer, color bool) error {
	var b strings.Builder
	for i, item := range d.Items {
		if i > 0 {
			b.WriteByte('\n')
		}
		d.render(&b, item, color)
	}
	if d.Omitted > 0 {
		fmt.Fprintf(&b, "\nand %d more\n", d.Omitted)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (d *Diagnostics) render(b *strings.Builder, item Diagnostic, color bool) {
	paint, reset := "", ""
	if color {
		paint, reset = "\x1b[31m", "\x1b[0m"
		if item.Severity == sdk.SeverityWarning {
			paint = "\x1b[33m"
		}
	}
	warning := ""
	if item.Severity == sdk.SeverityWarning {
		warning = "warning: "
	}
	fmt.Fprintf(b, "%s: %s%s\n", item.Range, warning, item.Message)

	number := fmt.Sprint(item.Range.Line)
	gutter := strings.Repeat(" ", len(number))
	text, mark := snippet(d.src, item.start, item.end)
	fmt.Fprintf(b, " %s | %s\n", number, text)
	indent, carets := mark[:len(mark)-len(strings.TrimLeft(mark, " \t"))], strings.TrimLeft(mark, " \t")
	fmt.Fprintf(b, " %s | %s%s%s%s\n", gutter, indent, paint, carets, reset)
	for _, v := range item.Values {
		fmt.Fprintf(b, " %s = %s\n", gutter, v)
	}
	if item.Hint != "" {
		fmt.Fprintf(b, "hint: %s\n", item.Hint)
	}
}

// lineStart returns where the line around the byte at starts.
func lineStart(src []byte, at int) int {
	return bytes.LastIndexByte(src[:min(at, len(src))], '\n') + 1
}

// lineAt returns the line of src around the byte at, without its end.
func lineAt(src []byte, at int) []byte {
	line, _, _ := bytes.Cut(src[lineStart(src, at):], []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

// snippet returns the line around the bytes [start, end) and a second line with
// a mark under them. Of a long line it shows the part at start.
func snippet(src []byte, start, end int) (text, mark string) {
	start = min(start, len(src))
	line := lineAt(src, start)
	from := lineStart(src, start)
	at := min(start-from, len(line))
	to := min(max(end-from, at), len(line))

	before, subject, after := []rune(string(line[:at])), []rune(string(line[at:to])), []rune(string(line[to:]))
	var head, tail string
	if n := len(before) - maxSnippet/2; n > 0 {
		before, head = before[n:], "…"
	}
	if room := maxSnippet - len(before); len(subject) > room {
		subject, after, tail = subject[:room], nil, "…"
	} else if room -= len(subject); len(after) > room {
		after, tail = after[:room], "…"
	}
	text = head + visible(before) + visible(subject) + visible(after) + tail
	mark = strings.Repeat(" ", len([]rune(head))) + blank(before) + strings.Repeat("^", max(1, columns(subject)))
	return strings.TrimRight(text, " \t"), mark
}

// visible makes text safe for a terminal, and keeps its tabs.
func visible(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		if r != '\t' {
			r = printable(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// blank returns white space as wide as text.
func blank(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\t' {
			b.WriteByte('\t')
			continue
		}
		b.WriteString(strings.Repeat(" ", columnsOf(r)))
	}
	return b.String()
}

func columns(text []rune) int {
	n := 0
	for _, r := range text {
		n += columnsOf(r)
	}
	return n
}

// columnsOf returns how many cells of a terminal r fills.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
