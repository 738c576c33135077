package profile

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Bounds on a schema: it comes from another process.
const (
	maxSchemaDepth = 16
	maxTypeLen     = 1024
)

// specOf builds the decoder of a schema. Its error is the fault of the
// extension, and says where in the schema.
func specOf(s sdk.Schema, depth int) (hcldec.ObjectSpec, error) {
	if depth > maxSchemaDepth {
		return nil, fmt.Errorf("blocks are nested more than %d deep", maxSchemaDepth)
	}
	spec := hcldec.ObjectSpec{}
	for _, a := range s.Attributes {
		if err := free(spec, a.Name); err != nil {
			return nil, err
		}
		attr, err := attrSpec(a)
		if err != nil {
			return nil, fmt.Errorf("attribute %q: %w", a.Name, err)
		}
		spec[a.Name] = attr
	}
	for _, b := range s.Blocks {
		if err := free(spec, b.Type); err != nil {
			return nil, err
		}
		nested, err := specOf(b.Schema, depth+1)
		if err != nil {
			return nil, fmt.Errorf("block %q: %w", b.Type, err)
		}
		spec[b.Type] = blockSpec(b, nested)
	}
	return spec, nil
}

// free reports why name cannot be added to spec.
func free(spec hcldec.ObjectSpec, name string) error {
	if !hclsyntax.ValidIdentifier(name) {
		return fmt.Errorf("%q is not a name", name)
	}
	if _, taken := spec[name]; taken {
		return fmt.Errorf("%q is defined twice", name)
	}
	return nil
}

func blockSpec(b sdk.NestedBlock, nested hcldec.Spec) hcldec.Spec {
	if !b.Repeated {
		return &hcldec.BlockSpec{TypeName: b.Type, Nested: nested, Required: b.Required}
	}
	spec := &hcldec.BlockTupleSpec{TypeName: b.Type, Nested: nested}
	if b.Required {
		spec.MinItems = 1
	}
	return spec
}

func attrSpec(a sdk.Attribute) (hcldec.Spec, error) {
	ty, err := typeOf(a.Type)
	if err != nil {
		return nil, err
	}
	if len(a.OneOf) > 0 && ty != cty.String {
		return nil, errors.New("only a string can have a list of values")
	}
	spec := &hcldec.AttrSpec{Name: a.Name, Type: ty, Required: a.Required}
	if a.Required || len(a.Default) == 0 {
		return spec, nil
	}
	v, err := ctyjson.Unmarshal(a.Default, ty)
	if err != nil {
		return nil, fmt.Errorf("bad default: %w", err)
	}
	if len(a.OneOf) > 0 && !v.IsNull() && !slices.Contains(a.OneOf, v.AsString()) {
		return nil, fmt.Errorf("the default %q is not one of its values", v.AsString())
	}
	return &hcldec.DefaultSpec{Primary: spec, Default: &hcldec.LiteralSpec{Value: v}}, nil
}

// typeOf parses a type expression. "any" is not allowed: finding a common type
// for what is given takes quadratic time.
func typeOf(text string) (cty.Type, error) {
	if len(text) > maxTypeLen {
		return cty.NilType, fmt.Errorf("the type is longer than %d bytes", maxTypeLen)
	}
	src := []byte(text)
	tokens, _ := hclsyntax.LexExpression(src, "", hcl.InitialPos)
	if checkBounds(tokens).HasErrors() {
		return cty.NilType, errors.New("the type is nested too deep")
	}
	expr, diags := hclsyntax.ParseExpression(src, "", hcl.InitialPos)
	if diags.HasErrors() {
		return cty.NilType, fmt.Errorf("bad type %q", text)
	}
	ty, diags := typeexpr.Type(expr)
	if diags.HasErrors() {
		return cty.NilType, fmt.Errorf("bad type %q: %s", text, sentence(diags[0].Detail))
	}
	return ty, nil
}
