package profile

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcldec"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Config decodes the config block against the schema of the extension and
// returns it as JSON: every attribute of the schema is there, with its default
// or null where the profile has none; a repeated block is an array. A profile
// without a config block is decoded as an empty one.
//
// What is wrong in the profile is [*Diagnostics], a schema that makes no sense
// [sdk.CodeExtensionInvalid].
func (r *Resolved) Config(schema sdk.Schema) ([]byte, error) {
	spec, err := specOf(schema, 1)
	if err != nil {
		return nil, sdk.Errorf(sdk.CodeExtensionInvalid, "the config schema of %s is wrong: %s", r.Profile.ExtensionAddress(), clean(err.Error()))
	}
	body := r.Profile.configBody()
	v, diags := hcldec.Decode(body, spec, r.ctx)
	if !diags.HasErrors() {
		diags = append(diags, r.checkValues(schema, body, v)...)
	}
	if diags.HasErrors() {
		return nil, r.Profile.errOf(r.Profile.placeMissing(diags))
	}
	config, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return nil, sdk.Errorf(sdk.CodeInternal, "%s: config cannot be written as JSON: %w", r.Locate(nil), err)
	}
	if len(config) > maxExpanded {
		return nil, r.Profile.errOf(problem(r.locate(nil), "make it smaller", "config is too large; it has at most %d bytes", maxExpanded))
	}
	return config, nil
}

// configBody returns the body of the config block, or an empty one at the head
// of the profile.
func (p *Profile) configBody() *hclsyntax.Body {
	if p.config == nil {
		return &hclsyntax.Body{SrcRange: p.header}
	}
	return p.config.Body.(*hclsyntax.Body)
}

// placeMissing says of what is missing in a block that is not there how to add
// the block.
func (p *Profile) placeMissing(diags hcl.Diagnostics) hcl.Diagnostics {
	if p.config != nil {
		return diags
	}
	for _, diag := range diags {
		at := p.header
		diag.Subject, diag.Extra = &at, hint("add a config { ... } block that has it")
	}
	return diags
}

// checkValues checks what hcldec cannot: that a required attribute is not null,
// and that a string is one of its values.
func (r *Resolved) checkValues(schema sdk.Schema, body *hclsyntax.Body, v cty.Value) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, a := range schema.Attributes {
		attr := body.Attributes[a.Name]
		if attr == nil {
			continue
		}
		value := v.GetAttr(a.Name)
		var found hcl.Diagnostics
		switch {
		case a.Required && value.IsNull():
			found = problem(attr.Expr.Range(), "give it a value", "%s is required, and cannot be null", a.Name)
		case len(a.OneOf) > 0 && !value.IsNull() && !slices.Contains(a.OneOf, value.AsString()):
			found = problem(attr.Expr.Range(), "write "+quoted(a.OneOf, " or "), "bad %s %q", a.Name, value.AsString())
		default:
			continue
		}
		found[0].Expression, found[0].EvalContext = attr.Expr, r.ctx
		diags = append(diags, found...)
	}
	for _, b := range schema.Blocks {
		values := v.GetAttr(b.Type)
		for i, block := range blocksOf(body, b.Type) {
			value := values
			if b.Repeated {
				value = values.Index(cty.NumberIntVal(int64(i)))
			}
			diags = append(diags, r.checkValues(b.Schema, block.Body, value)...)
		}
	}
	return diags
}

func blocksOf(body *hclsyntax.Body, name string) []*hclsyntax.Block {
	var found []*hclsyntax.Block
	for _, b := range body.Blocks {
		if b.Type == name {
			found = append(found, b)
		}
	}
	return found
}

// Locate returns the place in the profile of a value of the config: path is that
// of an [sdk.Diagnostic]. Where the profile does not have the value, it is the
// place of the innermost block around it; without a config block, that of the
// profile block.
func (r *Resolved) Locate(path []string) Range { return rangeOf(r.locate(path)) }

func (r *Resolved) locate(path []string) hcl.Range {
	at, _ := r.find(path)
	return at
}

// find walks path down the config block. The expression is nil where the path
// ends at a block.
func (r *Resolved) find(path []string) (hcl.Range, hclsyntax.Expression) {
	if r.Profile.config == nil {
		return r.Profile.header, nil
	}
	at, body := r.Profile.config.DefRange, r.Profile.configBody()
	for len(path) > 0 {
		if attr := body.Attributes[path[0]]; attr != nil {
			expr := element(attr.Expr, path[1:])
			return expr.Range(), expr
		}
		blocks := blocksOf(body, path[0])
		path = path[1:]
		if len(blocks) == 0 {
			return at, nil
		}
		block := blocks[0]
		if len(path) > 0 {
			if i, err := strconv.Atoi(path[0]); err == nil {
				path = path[1:]
				if i < 0 || i >= len(blocks) {
					return at, nil
				}
				block = blocks[i]
			}
		}
		at, body = block.DefRange(), block.Body
	}
	return at, nil
}

// element walks down the lists and objects that are written out in expr, as far
// as they go.
func element(expr hclsyntax.Expression, path []string) hclsyntax.Expression {
	for _, step := range path {
		next := child(expr, step)
		if next == nil {
			return expr
		}
		expr = next
	}
	return expr
}

func child(expr hclsyntax.Expression, step string) hclsyntax.Expression {
	switch e := expr.(type) {
	case *hclsyntax.TupleConsExpr:
		if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < len(e.Exprs) {
			return e.Exprs[i]
		}
	case *hclsyntax.ObjectConsExpr:
		for _, item := range e.Items {
			key, diags := item.KeyExpr.Value(&hcl.EvalContext{})
			if !diags.HasErrors() && key.Type() == cty.String && key.IsKnown() && !key.IsNull() && key.AsString() == step {
				return item.ValueExpr
			}
		}
	}
	return nil
}

// Diagnose turns what an extension found in the config into [*Diagnostics] with
// places in the profile, warnings included. Warnings alone are no error: it
// returns nil, and [Resolved.Locate] has their places.
func (r *Resolved) Diagnose(found []sdk.Diagnostic) error {
	var diags hcl.Diagnostics
	for _, f := range found {
		at, expr := r.find(f.Path)
		diag := &hcl.Diagnostic{
			Severity: hcl.DiagError,
			Summary:  f.Summary,
			Subject:  &at,
			Extra:    hint(sentence(f.Detail)),
		}
		if f.Severity == sdk.SeverityWarning {
			diag.Severity = hcl.DiagWarning
		}
		if f.Summary == "" {
			diag.Summary = fmt.Sprintf("%s refused this value", r.Profile.ExtensionAddress())
		}
		if expr != nil {
			diag.Expression, diag.EvalContext = expr, r.ctx
		}
		diags = append(diags, diag)
	}
	return r.Profile.errOf(diags)
}
