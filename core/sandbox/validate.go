package sandbox

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tegwick/sand-boxer/sdk"
)

var (
	identifier = regexp.MustCompile(`\A[A-Za-z0-9._:@/-]{1,128}\z`)
	routeRef   = regexp.MustCompile(`\A[a-z0-9][a-z0-9-]{0,127}\z`)
)

// checkConsumer checks the form of the four fields.
func checkConsumer(c Consumer) error {
	for _, f := range []struct{ name, value string }{
		{"actor", c.Actor}, {"project", c.Project}, {"session_id", c.SessionID}, {"run_id", c.RunID},
	} {
		if identifier.MatchString(f.value) {
			continue
		}
		flag := strings.ReplaceAll(f.name, "_", "-")
		// The value is not repeated: a mistake here may be a secret.
		e := sdk.Errorf(sdk.CodeInvalidRequest, "consumer.%s is not 1 to 128 characters of A-Z a-z 0-9 . _ : @ / -", f.name)
		if f.value == "" {
			e = sdk.Errorf(sdk.CodeInvalidRequest, "consumer.%s is missing", f.name)
		}
		return e.WithField("/consumer/"+f.name).
			WithHint("give --%s, or set SANDBOXER_%s", flag, strings.ToUpper(f.name))
	}
	return nil
}

// checkCommand checks the argument vector, stdin and references of a request.
func checkCommand(req ExecRequest) error {
	if len(req.Command) == 0 || req.Command[0] == "" {
		return sdk.Errorf(sdk.CodeInvalidRequest, "the command is empty").WithField("/command").
			WithHint("give an argument vector: the program, then its arguments")
	}
	if len(req.Command) > sdk.MaxArgs {
		return sdk.Errorf(sdk.CodeInvalidRequest, "the command has %d arguments, more than %d", len(req.Command), sdk.MaxArgs).
			WithField("/command").WithHint("pass long lists on stdin, as with xargs")
	}
	total := 0
	for i, a := range req.Command {
		total += len(a)
		if strings.IndexByte(a, 0) >= 0 {
			return sdk.Errorf(sdk.CodeInvalidRequest, "argument %d of the command holds a NUL byte, which no argument can", i).
				WithField(fmt.Sprintf("/command/%d", i))
		}
	}
	if total > sdk.MaxArgBytes {
		return sdk.Errorf(sdk.CodeInvalidRequest, "the command has %d bytes in all, more than %d", total, sdk.MaxArgBytes).
			WithField("/command").WithHint("pass long text on stdin or in a file")
	}
	if len(req.Stdin) > sdk.MaxStdinBytes {
		return sdk.Errorf(sdk.CodeStdinTooLarge, "stdin is %d bytes, more than %d", len(req.Stdin), sdk.MaxStdinBytes).
			WithField("/stdin_text").WithHint("put large input into the source directory before create")
	}
	if !utf8.Valid(req.Stdin) {
		return sdk.Errorf(sdk.CodeInvalidRequest, "stdin is not valid UTF-8 text").WithField("/stdin_text").
			WithHint("encode it, as with base64, and decode it inside")
	}
	return checkRouteRefs(req.CredentialRouteRefs)
}

// checkRouteRefs lets catalog identifiers pass and refuses what looks like a
// value. It never repeats one: a mistake here may be a secret.
func checkRouteRefs(refs []string) error {
	if len(refs) > sdk.MaxCredentialRoutes {
		return sdk.Errorf(sdk.CodeInvalidRequest, "there are %d credential route references, more than %d", len(refs), sdk.MaxCredentialRoutes).
			WithField("/credential_route_refs")
	}
	for i, r := range refs {
		if !routeRef.MatchString(r) {
			return sdk.Errorf(sdk.CodeInvalidRequest, "credential route reference %d is not a catalog identifier; it may be a value, which is never passed", i).
				WithField(fmt.Sprintf("/credential_route_refs/%d", i)).
				WithHint("a reference is up to 128 of a-z 0-9 -, as rein-openweights-approle")
		}
	}
	return nil
}
