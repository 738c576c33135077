package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/extension"
	"github.com/tegwick/sand-boxer/core/profile"
	"github.com/tegwick/sand-boxer/sdk"
)

// catalog lists what sandboxes can be made of.
type catalog struct {
	profiles   profile.Finder
	extensions extensions
	log        hclog.Logger
}

func newCatalog(l *local, log hclog.Logger) catalog {
	return catalog{profile.Finder{Dirs: profileDirs()}, extensions{l.extensions, extension.DefaultFinder()}, log}
}

// Profiles lists every profile, the broken ones too.
func (c catalog) Profiles(context.Context) (apitype.ProfileList, error) {
	found, errs := c.profiles.List()
	list := apitype.ProfileList{Profiles: apitype.List[apitype.ProfileInfo]{}}
	for _, p := range found {
		list.Profiles = append(list.Profiles, viewProfile(p))
	}
	for _, err := range errs {
		broken, ok := errors.AsType[*profile.Diagnostics](err)
		if !ok {
			c.log.Warn("a profile cannot be read", "error", err)
			continue
		}
		name := strings.TrimSuffix(filepath.Base(broken.Items[0].Range.File), ".hcl")
		list.Profiles = append(list.Profiles, apitype.ProfileInfo{Profile: profile.Prefix + name, Failure: viewFailure(err)})
	}
	return list, nil
}

func viewProfile(p *profile.Profile) apitype.ProfileInfo {
	v := apitype.ProfileInfo{
		Profile: p.Address(), Description: p.Description, ProfileDigest: p.Digest,
		Extension: p.ExtensionAddress(), ExtensionVersion: p.ExtensionVersion,
		TTLDefaultSeconds: int64(p.TTL.Default / time.Second), TTLMaxSeconds: int64(p.TTL.Max / time.Second),
		ExecTimeoutSeconds: int64(p.Exec.TimeoutMax / time.Second), Network: &apitype.Network{Posture: p.Network.Posture},
	}
	for _, in := range p.Inputs {
		info := apitype.InputInfo{Name: in.Name, Type: string(in.Type), Description: in.Description, Required: in.Required}
		if !in.Required {
			info.Default = &in.Default
		}
		v.Inputs = append(v.Inputs, info)
	}
	return v
}

func viewFailure(err error) *apitype.Failure {
	e := sdk.AsError(err)
	return &apitype.Failure{Code: string(e.Code), Message: e.Message, Hint: e.Hint}
}

// HasProfile tells whether there is a valid profile of this name.
func (c catalog) HasProfile(name string) bool {
	_, err := c.profiles.Find(name)
	return err == nil
}

// Extensions lists every extension, those that must not or do not start too.
func (c catalog) Extensions(ctx context.Context) (apitype.ExtensionList, error) {
	list := apitype.ExtensionList{Extensions: apitype.List[apitype.ExtensionInfo]{}}
	for _, entry := range c.extensions.finder.List() {
		list.Extensions = append(list.Extensions, c.extension(ctx, entry))
	}
	return list, ctx.Err()
}

func (c catalog) extension(ctx context.Context, entry extension.Entry) apitype.ExtensionInfo {
	v := apitype.ExtensionInfo{Extension: "ext." + entry.Name}
	if digest, err := extension.Digest(entry.Path); err == nil {
		v.Digest = "sha256:" + digest
	}
	x, err := c.extensions.host.Open(ctx, entry.Name)
	if err != nil {
		v.Failure = viewFailure(err)
		return v
	}
	v.Digest, v.ExtensionVersion = "sha256:"+x.Digest, x.Info.Version
	for _, capability := range x.Capabilities {
		v.Capabilities = append(v.Capabilities, string(capability))
	}
	return v
}

// Installed lists the names of the extensions that may be started.
func (c catalog) Installed() ([]string, error) { return c.extensions.Installed() }
