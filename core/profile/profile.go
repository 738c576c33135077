// Package profile turns the HCL text of a profile into a checked [Profile].
//
// A profile is one file NAME.hcl with one block profile "NAME". [Load] and
// [Parse] check everything that can be known from the text alone; [Profile.Resolve]
// adds the values of the inputs, and [Resolved.Config] decodes the config block
// against the schema of the extension. Each mistake is reported with its file,
// line and column as [*Diagnostics].
//
// The text is taken to be hostile: its size, nesting and length are bounded
// before the parser sees it, and evaluation is linear in the size of the file
// and of the inputs.
package profile

import (
	"errors"
	"regexp"
	"strconv"
	"time"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/tegwick/sand-boxer/sdk"
)

// Prefix is what an address of a profile starts with.
const Prefix = "profile."

// extPrefix is what an address of an extension starts with.
const extPrefix = "ext."

// Profile is a checked profile. It is immutable and safe for concurrent use.
type Profile struct {
	// Name is the profile's name without prefix.
	Name        string
	Description string
	// File is the name that the profile was loaded by.
	File string
	// Digest is "sha256:" and the hexadecimal digest of the file's bytes.
	Digest string
	// Extension is the extension's name without prefix.
	Extension string
	// ExtensionVersion constrains the extension's version, as "~> 0.1"; empty
	// allows any. See [Profile.CheckVersion].
	ExtensionVersion string
	// Inputs holds the declared inputs in the order of the file.
	Inputs  []Input
	TTL     TTL
	Exec    Exec
	Network sdk.NetworkRequest

	src          []byte
	header       hcl.Range // profile "NAME"
	constraints  version.Constraints
	versionRange hcl.Range
	workspace    workspace
	config       *hcl.Block // nil when absent
	// uses counts the references to each input; those to all inputs at once
	// under "".
	uses map[string]int
}

// TTL bounds the life of a sandbox. Default is at most Max.
type TTL struct{ Default, Max time.Duration }

// Exec bounds the commands that run in a sandbox.
type Exec struct {
	// TimeoutMax is the longest timeout that a request may ask for, and caps
	// [sdk.DefaultExecTimeout]. An hour unless the profile says otherwise.
	TimeoutMax time.Duration
}

// Address returns the name with its prefix.
func (p *Profile) Address() string { return Prefix + p.Name }

// ExtensionAddress returns the extension's name with its prefix.
func (p *Profile) ExtensionAddress() string { return extPrefix + p.Extension }

// CheckVersion checks the version of the extension that was found against
// the profile's extension_version. A mismatch is [sdk.CodeVersionMismatch]; a
// version that is not semantic is [sdk.CodeExtensionInvalid].
func (p *Profile) CheckVersion(found string) error {
	v, err := version.NewSemver(found)
	if err != nil {
		return sdk.Errorf(sdk.CodeExtensionInvalid, "the version %q of %s is not a semantic version", clean(found), p.ExtensionAddress())
	}
	if p.ExtensionVersion == "" || p.constraints.Check(v) {
		return nil
	}
	return sdk.Errorf(sdk.CodeVersionMismatch, "%s: %s needs %s %s, but version %s was found",
		rangeOf(p.versionRange), p.Address(), p.ExtensionAddress(), p.ExtensionVersion, v.Original()).
		WithHint("install a version of %s that satisfies %q, or change extension_version", p.ExtensionAddress(), p.ExtensionVersion)
}

// errOf turns what was found wrong into an error; nil when there is no error
// in it.
func (p *Profile) errOf(diags hcl.Diagnostics) error {
	if !diags.HasErrors() {
		return nil
	}
	return newDiagnostics(p.File, p.src, diags)
}

// parseConstraints parses a version constraint. go-version's own message
// repeats the text, so only the fact is passed on.
func parseConstraints(s string) (version.Constraints, error) {
	c, err := version.NewConstraint(s)
	if err != nil || len(c) == 0 {
		return nil, errors.New("not a version constraint")
	}
	return c, nil
}

// leadingDays is a number of days, and what follows it.
var leadingDays = regexp.MustCompile(`^([0-9]{1,4})d([0-9].*)?$`)

// parseDuration parses Go's duration syntax, before which whole days may stand:
// "90s", "1h30m", "2d", "1d12h".
func parseDuration(s string) (time.Duration, error) {
	m := leadingDays.FindStringSubmatch(s)
	if m == nil {
		return time.ParseDuration(s)
	}
	days, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, err
	}
	d := time.Duration(days) * 24 * time.Hour
	if m[2] == "" {
		return d, nil
	}
	part, err := time.ParseDuration(m[2])
	return d + part, err
}
