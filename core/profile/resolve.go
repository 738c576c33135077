package profile

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// maxExpanded bounds, in bytes, what the inputs may add to the values of a
// profile, and the config that is made of it.
const maxExpanded = 1 << 20

// Resolved is a profile with a value for each of its inputs. It is immutable.
type Resolved struct {
	Profile *Profile
	// Inputs holds the value of every declared input, as given or by default.
	Inputs map[string]string
	// Workspace is what to copy. Its Path is the text of the input or of the
	// profile: not made absolute, not resolved, not checked to exist.
	Workspace sdk.WorkspaceSource

	ctx *hcl.EvalContext
}

// workspace is the checked workspace block. An input or a path is its source;
// the zero value is an empty workspace.
type workspace struct {
	input   string
	path    string
	exclude *hcl.Attribute
}

func (d *decoder) workspace(block *hcl.Block) {
	if block == nil {
		return
	}
	d.references(block.Body)
	attrs := d.content(block.Body, workspaceSchema).Attributes
	d.need(attrs, block.DefRange, "source", "input.NAME")
	d.source(attrs["source"])
	d.p.workspace.exclude = attrs["exclude"]
	if !d.diags.HasErrors() {
		_, diags := patterns(attrs["exclude"], d.p.context(unknown))
		d.diags = append(d.diags, diags...)
	}
}

// source takes an input of type directory or an absolute path. A path that is
// put together from text could leave the directory that was agreed to.
func (d *decoder) source(attr *hcl.Attribute) {
	if attr == nil {
		return
	}
	const fix = "write source = input.NAME of an input with type = directory, or an absolute path in quotes"
	at := attr.Expr.Range()
	if ref, ok := attr.Expr.(*hclsyntax.ScopeTraversalExpr); ok {
		name := inputName(ref.Traversal)
		in := d.p.input(name)
		switch {
		case ref.Traversal.RootName() != "input", name != "" && in == nil, in != nil && in.Type == "":
			// Reported with the references, or with the input.
		case in == nil || len(ref.Traversal) != 2:
			d.report(at, fix, "source is not an input")
		case in.Type != TypeDirectory:
			d.report(at, fmt.Sprintf("write type = directory in input %q", name), "source must be a directory, but input %q is a %s", name, in.Type)
		default:
			d.p.workspace.input = name
		}
		return
	}
	if len(attr.Expr.Variables()) > 0 {
		d.report(at, fix, "source cannot be put together from text and inputs")
		return
	}
	path, ok := d.text(attr)
	if ok && (!filepath.IsAbs(path) || strings.ContainsRune(path, 0)) {
		d.report(at, fix, "source %q is not an absolute path", path)
	}
	d.p.workspace.path = path
}

// patterns evaluates the exclude attribute; nil for nil. A pattern that depends
// on an unknown input is left out.
func patterns(attr *hcl.Attribute, ctx *hcl.EvalContext) ([]string, hcl.Diagnostics) {
	if attr == nil {
		return nil, nil
	}
	wrong := func() hcl.Diagnostics {
		diags := problem(attr.Expr.Range(), `write exclude = ["node_modules", "*.log"]`, "exclude must be a list of patterns that are not empty")
		diags[0].Expression, diags[0].EvalContext = attr.Expr, ctx
		return diags
	}
	v, diags := attr.Expr.Value(ctx)
	if diags.HasErrors() {
		return nil, diags
	}
	v, err := convert.Convert(v, cty.List(cty.String))
	if err != nil || v.IsNull() {
		return nil, wrong()
	}
	var list []string
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		switch {
		case !e.IsKnown():
			continue
		case e.IsNull() || e.AsString() == "" || strings.ContainsRune(e.AsString(), 0):
			return nil, wrong()
		}
		list = append(list, e.AsString())
	}
	return list, nil
}

// Resolve gives the inputs their values. An input that is unknown, missing or of
// the wrong type is [sdk.CodeInvalidRequest] with the JSON pointer of the input;
// what is wrong in the profile with these values is [*Diagnostics].
func (p *Profile) Resolve(inputs map[string]string) (*Resolved, error) {
	r := &Resolved{Profile: p, Inputs: map[string]string{}}
	if err := p.checkNames(inputs); err != nil {
		return nil, err
	}
	values := map[string]cty.Value{}
	for _, in := range p.Inputs {
		given, ok := inputs[in.Name]
		if !ok {
			given = in.Default
		}
		v, err := in.value(given)
		if err != nil {
			return nil, inputError(in.Name, "input %q must be %w", in.Name, err).
				WithHint("use --input %s=%s", in.Name, in.example())
		}
		r.Inputs[in.Name], values[in.Name] = given, v
	}
	if err := r.checkExpansion(); err != nil {
		return nil, err
	}
	r.ctx = p.context(func(in Input) cty.Value { return values[in.Name] })

	r.Workspace.Path = p.workspace.path
	if p.workspace.input != "" {
		r.Workspace.Path = r.Inputs[p.workspace.input]
	}
	exclude, diags := patterns(p.workspace.exclude, r.ctx)
	r.Workspace.Exclude = exclude
	if err := p.errOf(diags); err != nil {
		return nil, err
	}
	return r, nil
}

// checkNames refuses inputs that are not declared, then those that are missing.
func (p *Profile) checkNames(inputs map[string]string) error {
	names := p.inputNames()
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		if slices.Contains(names, name) {
			continue
		}
		err := inputError(name, "%s has no input %q", p.Address(), clean(name))
		if near := nearest(name, names); len(near) > 0 {
			return err.WithHint("did you mean --input %s=%s?", near[0], p.input(near[0]).example())
		}
		if len(names) == 0 {
			return err.WithHint("leave it out: the profile takes no inputs")
		}
		return err.WithHint("its inputs are: %s", strings.Join(names, ", "))
	}
	var missing, flags []string
	for _, in := range p.Inputs {
		if _, ok := inputs[in.Name]; !ok && in.Required {
			missing = append(missing, in.Name)
			flags = append(flags, fmt.Sprintf("--input %s=%s", in.Name, in.example()))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return inputError(missing[0], "%s needs a value for input %s", p.Address(), quoted(missing, ", ")).
		WithHint("add %s", strings.Join(flags, " "))
}

// checkExpansion refuses inputs that make a small profile large: each reference
// to an input is a copy of it.
func (r *Resolved) checkExpansion() error {
	all, total := r.Profile.uses[""], 0
	for name, value := range r.Inputs {
		total += (all + r.Profile.uses[name]) * len(value)
	}
	if total <= maxExpanded {
		return nil
	}
	return sdk.Errorf(sdk.CodeInvalidRequest, "the inputs are too long for %s, which uses them many times", r.Profile.Address()).
		WithField("/inputs").
		WithHint("use shorter values, or refer to the inputs fewer times in %s", clean(r.Profile.File))
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

func inputError(name, format string, args ...any) *sdk.Error {
	return sdk.Errorf(sdk.CodeInvalidRequest, format, args...).
		WithField("/inputs/" + pointerEscaper.Replace(clean(name)))
}
