package sdk

import "regexp"

// sandboxID is "sbx-" and a lower-case ULID (github.com/ulid/spec): Crockford's
// base 32, 26 characters, the first at most 7.
var sandboxID = regexp.MustCompile(`\Asbx-[0-7][0-9a-hjkmnp-tv-z]{25}\z`)

// ValidSandboxID reports whether id has the form of a sandbox id. A backend
// checks it before an id becomes part of a path.
func ValidSandboxID(id string) bool { return sandboxID.MatchString(id) }
