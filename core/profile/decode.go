package profile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/tegwick/sand-boxer/sdk"
	"github.com/zclconf/go-cty/cty"
)

// The structure of the language. No attribute is marked as required: need has the
// better message.
var (
	fileSchema = &hcl.BodySchema{
		Blocks: []hcl.BlockHeaderSchema{{Type: "profile", LabelNames: []string{"name"}}},
	}
	profileSchema = &hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{
			{Name: "description"}, {Name: "extension"}, {Name: "extension_version"},
		},
		Blocks: []hcl.BlockHeaderSchema{
			{Type: "input", LabelNames: []string{"name"}},
			{Type: "workspace"}, {Type: "network"}, {Type: "ttl"}, {Type: "exec"}, {Type: "config"},
		},
	}
	inputSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{
		{Name: "type"}, {Name: "description"}, {Name: "default"},
	}}
	workspaceSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}, {Name: "exclude"}}}
	networkSchema   = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "posture"}, {Name: "mode"}}}
	ttlSchema       = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "default"}, {Name: "max"}}}
	execSchema      = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "timeout_max"}}}
)

// Bounds and defaults of the durations.
const (
	minDuration       = time.Second
	maxDuration       = 30 * 24 * time.Hour
	defaultTimeoutMax = time.Hour
)

// The modes of the network block.
const (
	modeEnforce    = "enforce"
	modeBestEffort = "best-effort"
)

// validName is the form of the names of profiles and extensions.
var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

const nameHint = `a name has 1 to 63 characters of "a-z", "0-9" and "-", and does not start with "-"`

// decoder fills a Profile from a parsed file and collects what is wrong.
type decoder struct {
	p     *Profile
	diags hcl.Diagnostics
}

func (d *decoder) report(at hcl.Range, fix, format string, args ...any) {
	d.diags = append(d.diags, problem(at, fix, format, args...)...)
}

func (d *decoder) content(body hcl.Body, schema *hcl.BodySchema) *hcl.BodyContent {
	content, diags := body.Content(schema)
	d.diags = append(d.diags, diags...)
	return content
}

// need reports that block lacks an attribute, unless attrs has it; example is what
// to add.
func (d *decoder) need(attrs hcl.Attributes, block hcl.Range, name, example string) {
	if attrs[name] == nil {
		d.report(block, fmt.Sprintf("add %s = %s", name, example), "%s is missing in this block", name)
	}
}

func (d *decoder) file(body hcl.Body) {
	content := d.content(body, fileSchema)
	if len(content.Blocks) == 0 {
		if !d.diags.HasErrors() {
			d.report(content.MissingItemRange, `write: profile "NAME" { ... }`, "a profile block is missing")
		}
		return
	}
	for _, extra := range content.Blocks[1:] {
		d.report(extra.DefRange, "move it to a file of its own", "a second profile block; a file holds one profile")
	}
	block := content.Blocks[0]
	d.p.header = block.DefRange
	d.name(block.Labels[0], block.LabelRanges[0])
	d.profile(block.Body)
}

func (d *decoder) name(label string, at hcl.Range) {
	d.p.Name = label
	base, isHCL := strings.CutSuffix(filepath.Base(d.p.File), ".hcl")
	switch {
	case !validName.MatchString(label):
		d.report(at, nameHint, "bad profile name %q", label)
	case !isHCL:
		d.report(at, fmt.Sprintf("rename the file to %s.hcl", label), "the file of profile %q is not named %s.hcl", label, label)
	case label != base:
		d.report(at, fmt.Sprintf("write profile %q, or rename the file to %s.hcl", base, label),
			"the profile is named %q, but its file %s.hcl", label, base)
	}
}

func (d *decoder) profile(body hcl.Body) {
	content := d.content(body, profileSchema)
	blocks := d.single(content.Blocks)

	d.need(content.Attributes, d.p.header, "extension", `"ext.bwrap"`)
	d.p.Description, _ = d.text(content.Attributes["description"])
	d.extension(content.Attributes["extension"], content.Attributes["extension_version"])
	d.inputs(content.Blocks)
	d.network(blocks["network"])
	d.ttl(blocks["ttl"])
	d.exec(blocks["exec"])
	d.workspace(blocks["workspace"])
	if d.p.config = blocks["config"]; d.p.config != nil {
		d.references(d.p.config.Body)
	}
}

// single returns the blocks that may stand once, by type.
func (d *decoder) single(blocks hcl.Blocks) map[string]*hcl.Block {
	found := map[string]*hcl.Block{}
	for _, b := range blocks {
		if len(b.Labels) > 0 {
			continue
		}
		if first := found[b.Type]; first != nil {
			d.report(b.DefRange, "keep one of them", "a second %s block; the first is on line %d", b.Type, first.DefRange.Start.Line)
			continue
		}
		found[b.Type] = b
	}
	return found
}

// constant evaluates an attribute that may refer to nothing. It reports false
// when attr is nil or wrong.
func (d *decoder) constant(attr *hcl.Attribute) (cty.Value, bool) {
	if attr == nil || !d.checkReferences(attr.Expr.Variables(), false) {
		return cty.NilVal, false
	}
	v, diags := attr.Expr.Value(&hcl.EvalContext{})
	d.diags = append(d.diags, diags...)
	return v, !diags.HasErrors()
}

// text returns a constant string. It reports false when attr is nil or wrong.
func (d *decoder) text(attr *hcl.Attribute) (string, bool) {
	v, ok := d.constant(attr)
	if !ok {
		return "", false
	}
	if v.IsNull() || v.Type() != cty.String {
		d.report(attr.Expr.Range(), fmt.Sprintf(`write %s = "..."`, attr.Name), "%s must be a string", attr.Name)
		return "", false
	}
	return v.AsString(), true
}

func (d *decoder) extension(name, constraint *hcl.Attribute) {
	if s, ok := d.text(name); ok {
		d.p.Extension = strings.TrimPrefix(s, extPrefix)
		if !validName.MatchString(d.p.Extension) {
			d.report(name.Expr.Range(), `write it as "ext.bwrap" or "bwrap"; `+nameHint, "bad extension name %q", s)
		}
	}
	if s, ok := d.text(constraint); ok {
		d.p.ExtensionVersion, d.p.versionRange = s, constraint.Expr.Range()
		var err error
		if d.p.constraints, err = parseConstraints(s); err != nil {
			d.report(constraint.Expr.Range(), `write a constraint as "~> 0.1", "1.2.3" or ">= 1.2, < 2"`, "bad version constraint %q", s)
		}
	}
}

func (d *decoder) network(block *hcl.Block) {
	d.p.Network.Posture = sdk.PostureDeny
	if block == nil {
		return
	}
	attrs := d.content(block.Body, networkSchema).Attributes
	d.oneOf(attrs["posture"], sdk.PostureDeny)
	d.p.Network.BestEffort = d.oneOf(attrs["mode"], modeEnforce, modeBestEffort) == modeBestEffort
}

// oneOf returns a constant string that is one of values; "" when attr is nil or
// wrong.
func (d *decoder) oneOf(attr *hcl.Attribute, values ...string) string {
	s, ok := d.text(attr)
	if !ok {
		return ""
	}
	if !slices.Contains(values, s) {
		d.report(attr.Expr.Range(), "write "+quoted(values, " or "), "bad %s %q", attr.Name, s)
	}
	return s
}

func (d *decoder) ttl(block *hcl.Block) {
	if block == nil {
		d.report(d.p.header, `add ttl { ... } with default = "1h" and max = "24h"`, "the ttl block is missing")
		return
	}
	attrs := d.content(block.Body, ttlSchema).Attributes
	d.need(attrs, block.DefRange, "default", `"1h"`)
	d.need(attrs, block.DefRange, "max", `"24h"`)
	def, okDef := d.duration(attrs["default"])
	most, okMax := d.duration(attrs["max"])
	if okDef && okMax && def > most {
		d.report(attrs["default"].Expr.Range(), "lower default or raise max", "the default ttl is longer than its max")
	}
	d.p.TTL = TTL{Default: def, Max: most}
}

func (d *decoder) exec(block *hcl.Block) {
	d.p.Exec.TimeoutMax = defaultTimeoutMax
	if block == nil {
		return
	}
	if v, ok := d.duration(d.content(block.Body, execSchema).Attributes["timeout_max"]); ok {
		d.p.Exec.TimeoutMax = v
	}
}

func (d *decoder) duration(attr *hcl.Attribute) (time.Duration, bool) {
	const fix = `write a duration as "90s", "30m", "1h" or "2d"`
	v, ok := d.constant(attr)
	if !ok {
		return 0, false
	}
	at := attr.Expr.Range()
	if v.IsNull() || v.Type() != cty.String {
		d.report(at, fix, "%s must be a duration in quotes", attr.Name)
		return 0, false
	}
	s := v.AsString()
	dur, err := parseDuration(s)
	switch {
	case err != nil:
		d.report(at, fix, "bad duration %q", s)
	case dur < minDuration || dur > maxDuration:
		d.report(at, "write a duration from \"1s\" to \"30d\"", "the duration %q is out of range", s)
	default:
		return dur, true
	}
	return 0, false
}

// quoted puts each of values in quotes and sep between them.
func quoted(values []string, sep string) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprintf("%q", v)
	}
	return strings.Join(list, sep)
}
