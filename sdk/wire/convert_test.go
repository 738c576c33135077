package wire

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/tegwick/sand-boxer/sdk"
)

// fill sets every field of v, deep, to a value that is not its zero value and
// that no other field has.
func fill(v reflect.Value, n *int64, depth int) {
	*n++
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Unix(*n, *n).UTC()))
		return
	case sdk.Severity:
		v.Set(reflect.ValueOf(sdk.SeverityWarning))
		return
	case sdk.Code:
		v.Set(reflect.ValueOf(sdk.CodeDiskFull))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(*n)
	case reflect.Uint8, reflect.Uint32:
		v.SetUint(uint64(*n % 200))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, depth)
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(k, n, depth)
		fill(e, n, depth)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[[]sdk.NestedBlock]() {
			if depth == 0 {
				return
			}
			depth--
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), n, depth)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), n, depth)
			}
		}
	default:
		panic("fill does not know " + v.Type().String())
	}
}

// roundTrip sends a T through its two translations and the bytes between them.
func roundTrip[T any, P any, PM interface {
	*P
	proto.Message
}](to func(T) PM, from func(PM) T) func(*testing.T) {
	return func(t *testing.T) {
		for _, filled := range []bool{true, false} {
			var want T
			if filled {
				fill(reflect.ValueOf(&want).Elem(), new(int64), 2)
			}
			data, err := proto.Marshal(to(want))
			if err != nil {
				t.Fatal(err)
			}
			var msg PM = new(P)
			if err := proto.Unmarshal(data, msg); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, from(msg), cmpopts.IgnoreUnexported(sdk.Error{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("filled=%v: lost on the wire (-sent +arrived):\n%s", filled, diff)
			}
		}
	}
}

func TestEveryFieldSurvives(t *testing.T) {
	t.Run("Info", roundTrip(infoToProto, infoFromProto))
	t.Run("Ref", roundTrip(refToProto, refFromProto))
	t.Run("CreateRequest", roundTrip(createToProto, createFromProto))
	t.Run("Created", roundTrip(createdToProto, createdFromProto))
	t.Run("ExecRequest", roundTrip(execToProto, execFromProto))
	t.Run("ExecResult", roundTrip(resultToProto, resultFromProto))
	t.Run("Found", roundTrip(foundToProto, foundFromProto))
	t.Run("Status", roundTrip(statusToProto, statusFromProto))
	t.Run("Health", roundTrip(healthToProto, healthFromProto))
	t.Run("Diagnostic", roundTrip(diagnosticToProto, diagnosticFromProto))
}

func TestArgumentsAndPathsNeedNotBeUTF8(t *testing.T) {
	exec := sdk.ExecRequest{Argv: []string{"printf", "\xff\xfe"}}
	if got := execFromProto(execToProto(exec)).Argv[1]; got != "\xff\xfe" {
		t.Errorf("argument arrived as %q", got)
	}
	if _, err := proto.Marshal(execToProto(exec)); err != nil {
		t.Error(err)
	}
	create := sdk.CreateRequest{Workspace: sdk.WorkspaceSource{Path: "/tmp/\xff"}}
	if _, err := proto.Marshal(createToProto(create)); err != nil {
		t.Error(err)
	}
}

func TestStdinKeepsItsPresence(t *testing.T) {
	for _, stdin := range [][]byte{nil, {}, []byte("x")} {
		data, err := proto.Marshal(execToProto(sdk.ExecRequest{Stdin: stdin}))
		if err != nil {
			t.Fatal(err)
		}
		msg := execToProto(sdk.ExecRequest{})
		if err := proto.Unmarshal(data, msg); err != nil {
			t.Fatal(err)
		}
		if got := execFromProto(msg).Stdin; (got == nil) != (stdin == nil) || string(got) != string(stdin) {
			t.Errorf("stdin %#v arrived as %#v", stdin, got)
		}
	}
}
