package profile

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Bounds on the text, checked before the parser runs. The parser recurses for each
// bracket without limit and joins the lines and parts of a string in quadratic
// time; finding the type of a list takes quadratic time too.
const (
	maxDepth    = 100
	maxTokens   = 100_000
	maxParts    = 4096
	maxElements = 1000
)

// hint is kept in hcl.Diagnostic.Extra: what the author should type.
type hint string

// checkText refuses text that the parser must not see.
func checkText(filename string, src []byte) hcl.Diagnostics {
	start := hcl.Range{Filename: filename, Start: hcl.InitialPos, End: hcl.InitialPos}
	switch {
	case len(src) > MaxBytes:
		return problem(start, "", "the file is too large; a profile has at most %d bytes", MaxBytes)
	case len(bytes.TrimSpace(src)) == 0:
		return problem(start, `write: profile "NAME" { ... }`, "the file is empty; a profile block is missing")
	case bytes.HasPrefix(src, []byte("\xef\xbb\xbf")):
		return problem(start, `save the file as "UTF-8", not as "UTF-8 with BOM"`, "the file starts with a byte order mark; a profile is plain UTF-8")
	case !utf8.Valid(src):
		return problem(invalidUTF8(filename, src), "save the file as UTF-8", "this is not valid UTF-8")
	}
	// What the lexer complains about the parser reports again.
	tokens, _ := hclsyntax.LexConfig(src, filename, hcl.InitialPos)
	if diags := checkBounds(tokens); diags.HasErrors() {
		return diags
	}
	return checkLanguage(tokens)
}

// problem returns one error at a place in the text; fix may be empty.
func problem(at hcl.Range, fix, format string, args ...any) hcl.Diagnostics {
	diag := &hcl.Diagnostic{
		Severity: hcl.DiagError,
		Summary:  fmt.Sprintf(format, args...),
		Subject:  &at,
	}
	if fix != "" {
		diag.Extra = hint(fix)
	}
	return hcl.Diagnostics{diag}
}

func invalidUTF8(filename string, src []byte) hcl.Range {
	at := 0
	for at < len(src) {
		r, size := utf8.DecodeRune(src[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	line := src[bytes.LastIndexByte(src[:at], '\n')+1 : at]
	pos := hcl.Pos{Line: bytes.Count(src[:at], []byte("\n")) + 1, Column: utf8.RuneCount(line) + 1, Byte: at}
	end := pos
	end.Column, end.Byte = pos.Column+1, pos.Byte+1
	return hcl.Range{Filename: filename, Start: pos, End: end}
}

// closers maps what opens a level of nesting to what closes it.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace:          hclsyntax.TokenCBrace,
	hclsyntax.TokenOBrack:          hclsyntax.TokenCBrack,
	hclsyntax.TokenOParen:          hclsyntax.TokenCParen,
	hclsyntax.TokenOQuote:          hclsyntax.TokenCQuote,
	hclsyntax.TokenOHeredoc:        hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp:  hclsyntax.TokenTemplateSeqEnd,
	hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// checkBounds counts tokens, nesting, the parts of strings and the elements of lists. A closer that
// does not match is no way up: the parser recovers from it in ways of its own.
func checkBounds(tokens hclsyntax.Tokens) hcl.Diagnostics {
	type level struct {
		closer          hclsyntax.TokenType
		parts, elements int
	}
	if len(tokens) > maxTokens {
		return problem(tokens[maxTokens].Range, "", "the file is too large; a profile has at most %d words and signs", maxTokens)
	}
	levels := []level{{}}
	for _, t := range tokens {
		top := &levels[len(levels)-1]
		switch t.Type {
		case hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
			if top.parts++; top.parts > maxParts {
				return problem(t.Range, "", "this string is too long; it has at most %d lines and parts", maxParts)
			}
		case hclsyntax.TokenComma, hclsyntax.TokenEqual, hclsyntax.TokenColon:
			if top.elements++; top.elements > maxElements {
				return problem(t.Range, "", "this is too long; a list, an object or a block has at most %d elements", maxElements)
			}
		case top.closer:
			if len(levels) > 1 {
				levels = levels[:len(levels)-1]
			}
			continue
		}
		if closer, ok := closers[t.Type]; ok {
			if levels = append(levels, level{closer: closer}); len(levels) > maxDepth+1 {
				return problem(t.Range, "", "this is nested too deep; at most %d levels are allowed", maxDepth)
			}
		}
	}
	return nil
}

// operators are the tokens of expressions that the profile language lacks, with
// what the author may have meant. They are refused here rather than after parsing:
// a chain of them is a deep tree.
var operators = map[hclsyntax.TokenType]string{
	hclsyntax.TokenStar: quoteHint, hclsyntax.TokenSlash: quoteHint, hclsyntax.TokenPlus: "",
	hclsyntax.TokenPercent: "", hclsyntax.TokenEqualOp: "", hclsyntax.TokenNotEqual: "",
	hclsyntax.TokenLessThan: "", hclsyntax.TokenLessThanEq: "", hclsyntax.TokenGreaterThan: "",
	hclsyntax.TokenGreaterThanEq: "", hclsyntax.TokenAnd: "", hclsyntax.TokenOr: "",
	hclsyntax.TokenBang: quoteHint, hclsyntax.TokenQuestion: "", hclsyntax.TokenEllipsis: "",
	hclsyntax.TokenDoubleColon: quoteHint,
}

// beforeMinus are the tokens after which a "-" is a sign.
var beforeMinus = map[hclsyntax.TokenType]bool{
	hclsyntax.TokenEqual: true, hclsyntax.TokenColon: true, hclsyntax.TokenComma: true,
	hclsyntax.TokenOBrack: true, hclsyntax.TokenOParen: true, hclsyntax.TokenTemplateInterp: true,
}

const quoteHint = `put text in quotes, as "text"`

// sign is a token with what it stands between. Newlines and comments are left
// out: inside brackets the parser reads over them.
type sign struct {
	hclsyntax.Token
	prev hclsyntax.Token
	next hclsyntax.TokenType
	// newline is set when prev is on an earlier line.
	newline bool
}

// checkLanguage refuses the parts of HCL that are not in the profile language:
// it has literals, lists, objects, "${...}" and references to inputs.
func checkLanguage(tokens hclsyntax.Tokens) hcl.Diagnostics {
	var diags hcl.Diagnostics
	var s sign
	newline := false
	for _, t := range tokens {
		switch t.Type {
		case hclsyntax.TokenComment:
			// A comment to the end of the line holds its newline.
			newline = newline || bytes.HasSuffix(t.Bytes, []byte("\n"))
			continue
		case hclsyntax.TokenNewline:
			newline = true
			continue
		}
		s.next = t.Type
		diags = append(diags, checkSign(s)...)
		s = sign{Token: t, prev: s.Token, newline: newline}
		newline = false
	}
	return append(diags, checkSign(s)...)
}

func checkSign(s sign) hcl.Diagnostics {
	if fix, found := operators[s.Type]; found {
		return problem(s.Range, fix, "the operator %q is not in the profile language", s.Bytes)
	}
	switch {
	case s.Type == hclsyntax.TokenMinus && (!beforeMinus[s.prev.Type] || s.next != hclsyntax.TokenNumberLit):
		return problem(s.Range, quoteHint, `the operator "-" is not in the profile language`)
	case s.Type == hclsyntax.TokenTemplateControl:
		return problem(s.Range, "write %%{ for a literal %{", "the directive %%{ is not in the profile language")
	case s.Type == hclsyntax.TokenOBrack && isOperand(s.prev.Type) && string(s.prev.Bytes) != "in":
		return problem(s.Range, "refer to an input as input.NAME", "an index is not in the profile language")
	case s.Type == hclsyntax.TokenOParen && s.prev.Type == hclsyntax.TokenIdent && !s.newline:
		return problem(hcl.RangeBetween(s.prev.Range, s.Range), "write the value itself", "a function call is not in the profile language")
	case s.Type == hclsyntax.TokenIdent && string(s.Bytes) == "for" && s.next == hclsyntax.TokenIdent &&
		(s.prev.Type == hclsyntax.TokenOBrack || s.prev.Type == hclsyntax.TokenOBrace):
		return problem(s.Range, "write each element", `a "for" expression is not in the profile language`)
	case s.Type == hclsyntax.TokenNumberLit && !validNumber(string(s.Bytes)):
		return problem(s.Range, "", "this number is out of range; it has at most %d characters and an exponent within 308", maxNumberLen)
	}
	return nil
}

func isOperand(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenCBrack, hclsyntax.TokenCParen,
		hclsyntax.TokenCBrace, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
		return true
	}
	return false
}

const maxNumberLen = 64

var number = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?(?:[eE]([+-]?[0-9]{1,3}))?$`)

// validNumber reports whether s is a number that is cheap to write out: the
// decimal digits of 1e600000000 fill the memory.
func validNumber(s string) bool {
	m := number.FindStringSubmatch(s)
	if m == nil || len(s) > maxNumberLen {
		return false
	}
	if m[1] == "" {
		return true
	}
	exp, err := strconv.Atoi(m[1])
	return err == nil && -308 <= exp && exp <= 308
}
