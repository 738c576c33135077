package profile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/tegwick/sand-boxer/sdk"
)

// MaxBytes is the size of the largest profile that is read.
const MaxBytes = 1 << 20

// Load reads and checks the profile in the file path. A file that does not
// exist is [sdk.CodeProfileNotFound]; what is wrong in the text is [*Diagnostics].
func Load(path string) (*Profile, error) {
	src, err := read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, src)
}

// Parse checks the profile src as if it were read from filename, whose last
// element must be the profile's name and ".hcl". The error is [*Diagnostics].
func Parse(filename string, src []byte) (*Profile, error) {
	if diags := checkText(filename, src); diags.HasErrors() {
		return nil, newDiagnostics(filename, src, diags)
	}
	file, diags := hclsyntax.ParseConfig(src, filename, hcl.InitialPos)
	if diags.HasErrors() {
		return nil, newDiagnostics(filename, src, firstOfEach(diags))
	}
	digest := sha256.Sum256(src)
	d := decoder{p: &Profile{
		File:   filename,
		Digest: "sha256:" + hex.EncodeToString(digest[:]),
		src:    src,
		uses:   map[string]int{},
	}}
	d.file(file.Body)
	if err := d.p.errOf(d.diags); err != nil {
		return nil, err
	}
	return d.p, nil
}

// firstOfEach leaves out what is said a second time: a quote that is missing
// turns the rest of the file inside out.
func firstOfEach(diags hcl.Diagnostics) hcl.Diagnostics {
	seen := map[string]bool{}
	return slices.DeleteFunc(diags, func(d *hcl.Diagnostic) bool {
		text := d.Summary + d.Detail
		said := seen[text]
		seen[text] = true
		return said
	})
}

// read returns the bytes of a regular file of at most MaxBytes+1 bytes: Parse
// refuses the one that is too many, with a position.
func read(path string) ([]byte, error) {
	// Without O_NONBLOCK the open of a fifo waits for a writer for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err)
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, sdk.Errorf(sdk.CodeInvalidProfile, "%s is a directory, not a profile", clean(path)).
			WithHint("name the file, as %s", clean(path)+"/NAME.hcl")
	case !mode.IsRegular():
		return nil, sdk.Errorf(sdk.CodeInvalidProfile, "%s is not a regular file", clean(path)).
			WithHint("copy the profile to a regular file and name that")
	}
	src, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	return src, nil
}

func unreadable(path string, err error) error {
	e := sdk.Errorf(sdk.CodeInvalidProfile, "cannot read the profile file %s: %w", clean(path), cause(err))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Code = sdk.CodeProfileNotFound
	case errors.Is(err, fs.ErrPermission):
		e = e.WithHint("make it readable for this user (uid %d)", os.Geteuid())
	}
	return e
}

// cause returns err without the operation and the path that os puts before it:
// the message around it names the path.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
