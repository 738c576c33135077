package profile

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// references checks the expressions of the blocks that see the inputs: every
// name in them exists, and they have a value whatever the inputs are. It
// counts the uses of each input.
func (d *decoder) references(body hcl.Body) {
	ok := true
	diags := hclsyntax.VisitAll(body.(*hclsyntax.Body), func(node hclsyntax.Node) hcl.Diagnostics {
		// Past MaxItems nobody reads what is found, and each name costs a search.
		if ref, is := node.(*hclsyntax.ScopeTraversalExpr); is && len(d.diags) <= MaxItems {
			ok = d.checkReferences([]hcl.Traversal{ref.Traversal}, true) && ok
			d.p.uses[inputName(ref.Traversal)]++
		}
		return nil
	})
	d.diags = append(d.diags, diags...)
	if ok {
		d.diags = append(d.diags, evaluate(body.(*hclsyntax.Body), d.p.context(unknown))...)
	}
}

// evaluate evaluates every expression of body and of the blocks in it.
func evaluate(body *hclsyntax.Body, ctx *hcl.EvalContext) hcl.Diagnostics {
	var diags hcl.Diagnostics
	for _, attr := range body.Attributes {
		_, more := attr.Expr.Value(ctx)
		diags = append(diags, more...)
	}
	for _, block := range body.Blocks {
		diags = append(diags, evaluate(block.Body, ctx)...)
	}
	return diags
}

func unknown(in Input) cty.Value { return cty.UnknownVal(in.ctyType()) }

// context returns what expressions see when value gives each input its value.
func (p *Profile) context(value func(Input) cty.Value) *hcl.EvalContext {
	attrs := map[string]cty.Value{}
	for _, in := range p.Inputs {
		attrs[in.Name] = value(in)
	}
	return &hcl.EvalContext{Variables: map[string]cty.Value{"input": cty.ObjectVal(attrs)}}
}

// checkReferences reports whether each of refs names something that exists. Only
// where inputs is set may they refer to the inputs.
func (d *decoder) checkReferences(refs []hcl.Traversal, inputs bool) bool {
	ok := true
	for _, ref := range refs {
		message, fix := d.p.wrong(ref, inputs)
		if message != "" {
			d.report(ref.SourceRange(), fix, "%s", message)
			ok = false
		}
	}
	return ok
}

// wrong says what is wrong with a reference, and what to write instead.
func (p *Profile) wrong(ref hcl.Traversal, inputs bool) (message, fix string) {
	root, name := ref.RootName(), inputName(ref)
	switch {
	case root != "input" && shellVariable.MatchString(root):
		return fmt.Sprintf("there is nothing named %q; a profile does not read the environment", root),
			fmt.Sprintf("write $${%s} for a literal ${%s}", root, root)
	case root != "input" && p.input(root) != nil && inputs:
		return fmt.Sprintf("there is nothing named %q", root), fmt.Sprintf("write input.%s", root)
	case root != "input":
		return fmt.Sprintf("there is nothing named %q", root), quoteHint
	case !inputs:
		return "inputs cannot be used here", "inputs are known in the workspace and config blocks only"
	case name != "" && p.input(name) == nil:
		fix := didYouMean(name, p.inputNames(), "input.")
		if fix == "" {
			fix = fmt.Sprintf("declare it with: input %q { ... }", name)
		}
		return fmt.Sprintf("there is no input %q", name), fix
	}
	return "", ""
}

// input returns the declared input of that name, else nil.
func (p *Profile) input(name string) *Input {
	i := slices.IndexFunc(p.Inputs, func(in Input) bool { return in.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Inputs[i]
}

func (p *Profile) inputNames() []string {
	names := make([]string, len(p.Inputs))
	for i, in := range p.Inputs {
		names[i] = in.Name
	}
	return names
}
