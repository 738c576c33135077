package workspace

import (
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/tegwick/sand-boxer/sdk"
)

const (
	gitName = ".git"

	maxPattern      = 1024
	maxAlternatives = 256
)

// ValidatePatterns checks exclude patterns. The error names the first bad one
// and has the code [sdk.CodeInvalidRequest].
//
// A pattern is relative to the source, with slashes: * and ? match within a
// name, ** any number of directories, [a-z] a character, {a,b} one of several,
// and \ takes the meaning from the next character. A pattern without a slash
// matches a name at any depth, one with a slash in front or in the middle the
// path from the source. A slash at the end makes it match directories alone.
// A directory that matches is left out with all that it holds.
//
// A .git directory and what is in it match only a pattern that has .git as a
// name in it: otherwise *.lock or build would take a branch of that name away.
//
// Negation with ! is not supported.
func ValidatePatterns(patterns []string) error {
	_, err := compile(patterns)
	return err
}

// pattern is a compiled exclude pattern.
type pattern struct {
	glob    string
	byName  bool // matches a name at any depth
	dirOnly bool
	git     bool // applies to .git and inside it
}

type matcher []pattern

func compile(patterns []string) (matcher, error) {
	var m matcher
	for _, text := range patterns {
		if reason := fault(text); reason != "" {
			return nil, sdk.Errorf(sdk.CodeInvalidRequest, "the exclude pattern %q %s", short(text), reason).
				WithHint("write a path relative to the source, as node_modules, *.log, /build or docs/**/*.pdf")
		}
		p := pattern{git: slices.Contains(strings.FieldsFunc(text, isPunct), gitName)}
		p.glob, p.dirOnly = strings.CutSuffix(text, "/")
		p.byName = !strings.Contains(p.glob, "/")
		p.glob = strings.TrimPrefix(p.glob, "/")
		m = append(m, p)
	}
	return m, nil
}

func isPunct(r rune) bool { return strings.ContainsRune("/{},", r) }

func short(s string) string { return s[:min(len(s), 80)] }

// fault says what is wrong with a pattern; "" when nothing is.
func fault(text string) string {
	switch {
	case strings.HasPrefix(text, "!"):
		return `starts with "!": negation is not supported; list what to leave out, or write \! for a name that starts so`
	case strings.Trim(text, "/") == "":
		return "is empty"
	case len(text) > maxPattern:
		return "is longer than 1024 bytes"
	case strings.Contains(text, "\x00"):
		return "has a NUL byte in it"
	case !doublestar.ValidatePattern(text):
		return `is malformed: a "[" or "{" is not closed, or a "\" ends it`
	case alternatives(text) > maxAlternatives:
		return "has more than 256 alternatives"
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	for name := range strings.SplitSeq(inner, "/") {
		if name == "" || name == "." || name == ".." {
			return `can never match: it has an empty, "." or ".." element`
		}
	}
	return ""
}

// alternatives counts the ways to read the braces of a pattern: matching tries
// them all.
func alternatives(text string) int {
	product := 1
	var open []int // commas of each open brace
	for i := 0; i < len(text) && product <= maxAlternatives; i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				product *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return product
}

// match reports whether the entry name of the directory at path dir, "" for the
// root, is excluded. inGit says that dir is a .git directory or in one.
func (m matcher) match(dir, name string, isDir, inGit bool) bool {
	path := ""
	for _, p := range m {
		if p.dirOnly && !isDir || !p.git && (inGit || name == gitName) {
			continue
		}
		subject := name
		if !p.byName {
			if path == "" {
				path = join(dir, name)
			}
			subject = path
		}
		if doublestar.MatchUnvalidated(p.glob, subject) {
			return true
		}
	}
	return false
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
