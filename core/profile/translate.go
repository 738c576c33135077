package profile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/zclconf/go-cty/cty"
)

// translate turns a diagnostic of hcl, or one of ours in its form, into a
// Diagnostic: one sentence that says what is wrong, and a hint.
func translate(file string, src []byte, diag *hcl.Diagnostic) Diagnostic {
	at := hcl.Range{Filename: file, Start: hcl.InitialPos, End: hcl.InitialPos}
	if diag.Subject != nil {
		at = *diag.Subject
	}
	message, advice := split(diag.Summary, diag.Detail)
	message = otherPlace.ReplaceAllString(message, " on line $1")
	advice = otherPlace.ReplaceAllString(advice, " on line $1")
	switch fix, ok := diag.Extra.(hint); {
	case shellExpansion(src, at):
		advice = "write $${ for a literal ${"
	case ok:
		advice = string(fix)
	case strings.HasPrefix(diag.Summary, "Missing name for "):
		advice = `write a name in quotes before the "{"`
	case diag.Summary == "Invalid single-argument block definition":
		advice = "put each argument on a line of its own"
	}
	d := Diagnostic{
		Range:   rangeOf(at),
		Message: clean(message),
		Hint:    clean(advice),
		Values:  values(diag),
		start:   at.Start.Byte,
		end:     at.End.Byte,
	}
	if diag.Severity == hcl.DiagWarning {
		d.Severity = sdk.SeverityWarning
	}
	return d
}

// sentenceEnd is the end of a sentence with another one behind it.
var sentenceEnd = regexp.MustCompile(`[.?]\s+[A-Z]`)

// split makes a message of the summary and the first sentence of the detail,
// and a hint of the rest.
func split(summary, detail string) (message, advice string) {
	if m := sentenceEnd.FindStringIndex(detail); m != nil {
		detail, advice = detail[:m[0]], detail[m[1]-1:]
	}
	message = sentence(summary)
	if detail != "" {
		message += "; " + sentence(detail)
	}
	return message, sentence(strings.Join(strings.Fields(advice), " "))
}

// sentence makes s lower case at its start and leaves out the final stop.
func sentence(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ".")
	r := []rune(s)
	if len(r) > 1 && unicode.IsUpper(r[0]) && unicode.IsLower(r[1]) || len(r) > 1 && r[1] == ' ' {
		r[0] = unicode.ToLower(r[0])
	}
	return string(r)
}

// otherPlace is a range as hcl writes it into a sentence.
var otherPlace = regexp.MustCompile(` at [^,]*:([0-9]+),[0-9]+-[0-9,]+`)

// shellVariable is a name as a shell's variables have; shellForm is an expansion
// that is not HCL, as ${HOME:-/root}.
var (
	shellVariable = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	shellForm     = regexp.MustCompile(`\$\{[#!]?[A-Z_][A-Z0-9_]*[:#%/^,@=?+-][^}]*`)
)

// shellExpansion reports whether at is in a shell's expansion.
func shellExpansion(src []byte, at hcl.Range) bool {
	line := lineAt(src, at.Start.Byte)
	column := at.Start.Byte - lineStart(src, at.Start.Byte)
	for _, m := range shellForm.FindAllIndex(line, -1) {
		if m[0] <= column && column <= m[1] {
			return true
		}
	}
	return false
}

// values lists the inputs that the expression of diag refers to.
func values(diag *hcl.Diagnostic) []string {
	if diag.Expression == nil || diag.EvalContext == nil {
		return nil
	}
	var list []string
	for _, ref := range diag.Expression.Variables() {
		v, diags := ref.TraverseAbs(diag.EvalContext)
		if name := inputName(ref); name != "" && !diags.HasErrors() && v.IsKnown() {
			list = append(list, clean(fmt.Sprintf("input.%s = %s", name, show(v))))
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list[:min(len(list), MaxItems)]
}

// show writes a value of an input as a profile would.
func show(v cty.Value) string {
	switch {
	case v.IsNull():
		return "null"
	case v.Type() == cty.String:
		return fmt.Sprintf("%q", v.AsString())
	}
	return plain(v)
}

// inputName returns NAME of input.NAME, else "".
func inputName(ref hcl.Traversal) string {
	if len(ref) < 2 || ref.IsRelative() || ref.RootName() != "input" {
		return ""
	}
	attr, _ := ref[1].(hcl.TraverseAttr)
	return attr.Name
}

// nearest returns the names that given may be a slip of the pen for, the nearest
// first, at most three.
func nearest(given string, names []string) []string {
	const far, longest = 3, 64
	var near []string
	if len(given) > longest {
		return nil
	}
	for distance := 1; distance < far; distance++ {
		for _, name := range names {
			if len(near) < 3 && levenshtein.Distance(given, name, nil) == distance {
				near = append(near, name)
			}
		}
	}
	return near
}

// didYouMean returns a question of the nearest names; "" when none is near.
func didYouMean(given string, names []string, prefix string) string {
	near := nearest(given, names)
	if len(near) == 0 {
		return ""
	}
	for i, name := range near {
		near[i] = fmt.Sprintf("%q", prefix+name)
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}
