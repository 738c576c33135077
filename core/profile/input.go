package profile

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// InputType is what an input takes.
type InputType string

// The types of inputs.
const (
	// TypeDirectory is a path of a directory. It is kept as given: whoever
	// resolves a profile decides what it is relative to and whether it may be
	// read.
	TypeDirectory InputType = "directory"
	TypeString    InputType = "string"
	TypeNumber    InputType = "number"
	TypeBool      InputType = "bool"
)

// inputTypes is the one table of the types: the keyword, what a value looks
// like in a hint, and the type in expressions.
var inputTypes = []struct {
	name    InputType
	example string
	cty     cty.Type
}{
	{TypeDirectory, "PATH", cty.String},
	{TypeString, "TEXT", cty.String},
	{TypeNumber, "NUMBER", cty.Number},
	{TypeBool, "true|false", cty.Bool},
}

// Input is one declared input.
type Input struct {
	Name        string
	Type        InputType
	Description string
	// Required is set when the input has no default.
	Required bool
	// Default is the value when none is given, as a person would type it.
	Default string
}

// MaxInputBytes bounds the value of an input, and maxInputs how many a profile
// declares.
const (
	MaxInputBytes = 4096
	maxInputs     = 100
)

var validInputName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

// example returns what a value looks like, as PATH.
func (in Input) example() string {
	for _, t := range inputTypes {
		if t.name == in.Type {
			return t.example
		}
	}
	return "VALUE"
}

func (in Input) ctyType() cty.Type {
	for _, t := range inputTypes {
		if t.name == in.Type {
			return t.cty
		}
	}
	return cty.String
}

// value checks what was given for the input. The error says what a value must
// be, to stand behind "must be".
func (in Input) value(s string) (cty.Value, error) {
	switch {
	case len(s) > MaxInputBytes:
		return cty.NilVal, fmt.Errorf("at most %d bytes long", MaxInputBytes)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return cty.NilVal, errors.New("UTF-8 text without NUL")
	}
	switch in.Type {
	case TypeDirectory:
		if s == "" {
			return cty.NilVal, errors.New("the path of a directory")
		}
	case TypeNumber:
		if !validNumber(s) {
			return cty.NilVal, errors.New("a number")
		}
		return cty.ParseNumberVal(s)
	case TypeBool:
		if s != "true" && s != "false" {
			return cty.NilVal, errors.New("true or false")
		}
		return cty.BoolVal(s == "true"), nil
	}
	return cty.StringVal(s), nil
}

// plain writes a known value of an input as a person would type it.
func plain(v cty.Value) string {
	s, err := convert.Convert(v, cty.String)
	if err != nil || s.IsNull() {
		return ""
	}
	return s.AsString()
}

func (d *decoder) inputs(blocks hcl.Blocks) {
	seen := map[string]int{}
	for _, b := range blocks {
		if b.Type != "input" {
			continue
		}
		name, at := b.Labels[0], b.LabelRanges[0]
		switch first, dup := seen[name]; {
		case dup:
			d.report(at, "give one of them another name", "a second input %q; the first is on line %d", name, first)
			continue
		case !validInputName.MatchString(name):
			d.report(at, `a name has 1 to 63 characters of "a-z", "0-9" and "_", and starts with a letter`, "bad input name %q", name)
			continue
		case len(seen) == maxInputs:
			d.report(at, "", "too many inputs; a profile has at most %d", maxInputs)
			return
		}
		seen[name] = at.Start.Line
		d.p.Inputs = append(d.p.Inputs, d.input(name, b))
	}
}

func (d *decoder) input(name string, block *hcl.Block) Input {
	attrs := d.content(block.Body, inputSchema).Attributes
	d.need(attrs, block.DefRange, "type", "directory")
	in := Input{Name: name, Required: attrs["default"] == nil}
	in.Description, _ = d.text(attrs["description"])
	in.Type = d.inputType(attrs["type"])
	if in.Type == "" {
		return in
	}
	if v, ok := d.constant(attrs["default"]); ok {
		at := attrs["default"].Expr.Range()
		if v.IsNull() || v.Type() != in.ctyType() {
			d.report(at, "", "the default of input %q must be a %s", name, in.Type)
			return in
		}
		in.Default = plain(v)
		if _, err := in.value(in.Default); err != nil {
			d.report(at, "", "the default of input %q must be %s", name, err)
		}
	}
	return in
}

// inputType reads the keyword of a type attribute; "" when it is wrong.
func (d *decoder) inputType(attr *hcl.Attribute) InputType {
	if attr == nil {
		return ""
	}
	keyword := hcl.ExprAsKeyword(attr.Expr)
	var names []string
	for _, t := range inputTypes {
		if string(t.name) == keyword {
			return t.name
		}
		names = append(names, string(t.name))
	}
	fix := "write type = directory, without quotes"
	if near := didYouMean(keyword, names, ""); near != "" {
		fix = near
	}
	d.report(attr.Expr.Range(), fix, "the type of an input is one of %s", strings.Join(names, ", "))
	return ""
}
