package apitype

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// DecodeStrict reads one JSON value from r into v, which points to a struct of
// this package. What encoding/json would let pass is refused with a
// [*FieldError]: fields that are unknown or differ in case, fields given twice,
// null where there is no choice, text that is not UTF-8, and anything behind the
// value. Other errors are those of r, which the caller bounds. The depth of the
// recursion is that of the type of v.
func DecodeStrict(r io.Reader, v any) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if err := checkSyntax(raw); err != nil {
		return err
	}
	d := decoder{Decoder: json.NewDecoder(bytes.NewReader(raw)), raw: raw}
	d.UseNumber()
	if err := d.value(target{Type: reflect.TypeOf(v).Elem()}, ""); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return &FieldError{Message: "cannot be read: " + err.Error()}
	}
	return nil
}

// checkSyntax makes sure of one JSON value and nothing else, so that reading
// its tokens later cannot fail.
func checkSyntax(raw []byte) error {
	in := json.NewDecoder(bytes.NewReader(raw))
	var value json.RawMessage
	err := in.Decode(&value)
	syntax, _ := errors.AsType[*json.SyntaxError](err)
	switch {
	case errors.Is(err, io.EOF):
		return &FieldError{Message: "is empty", Hint: "send one JSON object"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &FieldError{Message: "ends in the middle of its JSON value"}
	case syntax != nil:
		return &FieldError{Message: fmt.Sprintf("is not JSON at byte %d: %v", syntax.Offset, syntax)}
	case err != nil:
		return &FieldError{Message: "is not JSON: " + err.Error()}
	case len(bytes.TrimSpace(raw[in.InputOffset():])) > 0:
		return &FieldError{Message: fmt.Sprintf("has more text behind its JSON value, at byte %d", in.InputOffset())}
	}
	return nil
}

// target is what a value is read into.
type target struct {
	reflect.Type
	// is and hint are the tags of the field: what the value is, in words,
	// and how to write it.
	is, hint string
}

// want describes the JSON of a target.
func (t target) want() string {
	var want string
	switch t.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Slice:
		want = "an array"
		if t.Elem().Kind() == reflect.String {
			want = "an array of strings"
		}
	case reflect.Struct, reflect.Map:
		want = "an object"
	}
	if t.is != "" {
		want += " (" + t.is + ")"
	}
	return want
}

func (t target) mismatch(pointer, got string) error {
	return &FieldError{Pointer: pointer, Message: "must be " + t.want() + ", not " + got, Hint: t.hint}
}

// decoder walks over the tokens of a valid JSON text.
type decoder struct {
	*json.Decoder
	raw []byte
}

// next returns the next token and the text it was read from, which may have
// white space and punctuation in front.
func (d *decoder) next() (token json.Token, text []byte) {
	start := d.InputOffset()
	token, _ = d.Token() // checkSyntax has read it all
	return token, d.raw[start:d.InputOffset()]
}

// value checks the next value.
func (d *decoder) value(t target, pointer string) error {
	token, text := d.next()
	if t.Kind() == reflect.Pointer {
		if token == nil {
			return nil
		}
		t.Type = t.Elem()
	}
	kind := t.Kind()
	switch token := token.(type) {
	case nil:
		return t.mismatch(pointer, "null")
	case bool:
		if kind != reflect.Bool {
			return t.mismatch(pointer, "true or false")
		}
	case string:
		if kind != reflect.String {
			return t.mismatch(pointer, "a string")
		}
		return checkText(text, pointer)
	case json.Number:
		return t.checkNumber(token.String(), pointer)
	case json.Delim:
		switch {
		case token == '[' && kind == reflect.Slice:
			return d.array(target{Type: t.Elem()}, pointer)
		case token == '[':
			return t.mismatch(pointer, "an array")
		case kind == reflect.Struct || kind == reflect.Map:
			return d.object(t, pointer)
		default:
			return t.mismatch(pointer, "an object")
		}
	}
	return nil
}

func (d *decoder) array(elem target, pointer string) error {
	for i := 0; d.More(); i++ {
		if err := d.value(elem, pointer+"/"+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	d.next() // the bracket
	return nil
}

func (d *decoder) object(t target, pointer string) error {
	seen := map[string]bool{}
	for d.More() {
		token, text := d.next()
		name, _ := token.(string)
		at := pointer + "/" + escape(name)
		if err := checkText(text, at); err != nil {
			return err
		}
		if seen[name] {
			return &FieldError{Pointer: at, Message: "is given twice"}
		}
		seen[name] = true
		member, err := t.member(name, at)
		if err != nil {
			return err
		}
		if err := d.value(member, at); err != nil {
			return err
		}
	}
	d.next() // the brace
	return nil
}

// member finds what the value of a name in an object is read into.
func (t target) member(name, pointer string) (target, error) {
	if t.Kind() == reflect.Map {
		return target{Type: t.Elem()}, nil
	}
	var known []string
	for i := range t.NumField() {
		f := t.Field(i)
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == name {
			return target{Type: f.Type, is: f.Tag.Get("is"), hint: f.Tag.Get("hint")}, nil
		}
		known = append(known, tag)
	}
	slices.Sort(known)
	return target{}, &FieldError{Pointer: pointer, Message: "is not a field of this request",
		Hint: "the fields here are " + strings.Join(known, ", ")}
}

func (t target) checkNumber(number, pointer string) error {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
	default:
		return t.mismatch(pointer, "a number")
	}
	_, err := strconv.ParseInt(number, 10, t.Bits())
	switch {
	case errors.Is(err, strconv.ErrRange):
		return &FieldError{Pointer: pointer, Message: "is out of range"}
	case err != nil:
		return &FieldError{Pointer: pointer, Message: "must be a whole number, without fraction or exponent"}
	}
	return nil
}

// checkText refuses a string in which encoding/json would replace something:
// bytes that are not UTF-8, and escapes of half a surrogate pair. Python writes
// those for the bytes of a file name that is not UTF-8.
func checkText(text []byte, pointer string) error {
	if !utf8.Valid(text) {
		return &FieldError{Pointer: pointer, Message: "is not valid UTF-8"}
	}
	for i := bytes.IndexByte(text, '\\'); i >= 0 && i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		unit, ok := escapedUnit(text[i:])
		if !ok {
			i++ // past what is escaped, which may be a backslash
			continue
		}
		i += 5
		if !utf16.IsSurrogate(unit) {
			continue
		}
		low, _ := escapedUnit(text[i+1:])
		if utf16.DecodeRune(unit, low) == utf8.RuneError {
			return &FieldError{Pointer: pointer, Message: fmt.Sprintf(`has \u%04x, half of a surrogate pair, which is no character`, unit),
				Hint: "text must be Unicode; pass other bytes encoded, as in base64"}
		}
		i += 6
	}
	return nil
}

// escapedUnit reads an escape as \u12ab at the start of text.
func escapedUnit(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(unit), err == nil
}

// escape writes a name as a part of a JSON pointer. A pointer is shown to
// people and logged, so an overlong name is cut, and what is not printable is
// replaced.
func escape(name string) string {
	const most = 64
	if len(name) > most {
		cut := most
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = name[:cut] + "…"
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, name)
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}
