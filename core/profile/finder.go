package profile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tegwick/sand-boxer/sdk"
)

// Finder finds profiles by name in directories. Where two hold a file of the
// same name, the earlier directory wins. A directory that does not exist is
// empty.
type Finder struct {
	Dirs []string
}

// Find loads the profile name, with or without "profile." before it. A name that
// no directory has is [sdk.CodeProfileNotFound].
func (f Finder) Find(name string) (*Profile, error) {
	short := strings.TrimPrefix(name, Prefix)
	if !validName.MatchString(short) {
		return nil, sdk.Errorf(sdk.CodeInvalidRequest, "bad profile name %q", clean(name)).
			WithField("/profile").WithHint(nameHint)
	}
	for _, dir := range f.Dirs {
		p, err := Load(filepath.Join(dir, short+".hcl"))
		if !errors.Is(err, fs.ErrNotExist) {
			return p, err
		}
	}
	return nil, f.notFound(short)
}

func (f Finder) notFound(name string) error {
	err := sdk.Errorf(sdk.CodeProfileNotFound, "there is no profile %q in %s", name, f.places()).WithField("/profile")
	files, _ := f.files()
	var known []string
	for _, file := range files {
		known = append(known, fileProfile(file))
	}
	switch near := didYouMean(name, known, Prefix); {
	case near != "":
		return err.WithHint("%s", near)
	case len(known) > 0:
		return err.WithHint("sandboxer profile list shows what there is: %s", strings.Join(known[:min(len(known), MaxItems)], ", "))
	}
	return err.WithHint("put %s.hcl in one of the directories", name)
}

func (f Finder) places() string {
	if len(f.Dirs) == 0 {
		return "no directory at all"
	}
	dirs := make([]string, len(f.Dirs))
	for i, dir := range f.Dirs {
		dirs[i] = clean(dir)
	}
	return strings.Join(dirs, ", ")
}

// List loads every profile, sorted by name. The errors are those of the files
// and directories that could not be read or are wrong.
func (f Finder) List() ([]*Profile, []error) {
	files, errs := f.files()
	var list []*Profile
	for _, file := range files {
		p, err := Load(file)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, p)
	}
	return list, errs
}

// files returns the files of the profiles, sorted by name.
func (f Finder) files() ([]string, []error) {
	var errs []error
	first := map[string]string{}
	for _, dir := range f.Dirs {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, sdk.Errorf(sdk.CodeInvalidProfile, "cannot list the profiles in %s: %w", clean(dir), cause(err)))
		}
		for _, e := range entries {
			name := fileProfile(e.Name())
			hidden := strings.HasPrefix(e.Name(), ".")
			if _, shadowed := first[name]; filepath.Ext(e.Name()) != ".hcl" || hidden || shadowed {
				continue
			}
			first[name] = filepath.Join(dir, e.Name())
		}
	}
	files := make([]string, 0, len(first))
	for _, file := range first {
		files = append(files, file)
	}
	slices.SortFunc(files, func(a, b string) int {
		return strings.Compare(fileProfile(a), fileProfile(b))
	})
	return files, errs
}

// fileProfile returns the name of the profile in a file.
func fileProfile(file string) string {
	return strings.TrimSuffix(filepath.Base(file), ".hcl")
}
