package layout

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rules are only as good as what finds their breaches.
func TestBreachesAreFound(t *testing.T) {
	g := graph{}
	add := func(path string, imports ...string) { g[path] = pkg{ImportPath: path, Imports: imports} }
	add(repo+"core/client", repo+"core/apitype", repo+"core/sandbox/x", repo+"sdk", "net/http")
	add(repo+"core/client/inner", repo+"core/client", "github.com/a/b")
	add(repo+"core/clients", repo+"core/api")
	add(repo + "core/apitype")
	add(repo+"core/sandbox/x", "github.com/a/b")
	add("github.com/a/b", "short/for/grpc", "net/http", "C")
	add(grpc + "/codes")
	add(repo+"sdk", "net/http", "vendored/x")
	add(repo+"sdk/wire", grpc)
	add(repo+"cmd/sandboxer", hcl+"/hclsyntax", goPlugin)
	g["github.com/a/b"] = pkg{Imports: g["github.com/a/b"].Imports, ImportMap: map[string]string{"short/for/grpc": grpc + "/codes"}}
	g["net/http"] = pkg{Standard: true}
	g["vendored/x"] = pkg{Error: &struct{ Err string }{"gone"}}

	inClient, inSandbox := repo+"core/client", repo+"core/sandbox/x"
	for _, test := range []struct {
		name string
		got  []string
		want []string
	}{
		{
			"imports and reach", g.breaches(rule{dir: "core/client", imports: []string{"core/apitype", "sdk/..."}, never: []string{grpc, "core/sandbox", "core/api"}}),
			[]string{
				inClient + " imports " + inSandbox + ", which is not among what it may import",
				"what vendored/x imports is not known: gone",
				reached(inClient, inSandbox, "github.com/a/b", grpc+"/codes"),
				reached(inClient, inSandbox),
				"what vendored/x imports is not known: gone",
				reached(inClient+"/inner", "github.com/a/b", grpc+"/codes"),
				reached(inClient+"/inner", inClient, inSandbox),
			},
		},
		{
			"the standard library alone", g.breaches(rule{dir: "sdk", exact: true, never: []string{outside}}),
			[]string{"what vendored/x imports is not known: gone", reached(repo+"sdk", "vendored/x")},
		},
		{"nothing", g.breaches(rule{dir: "core/apitype", never: []string{outside}}), nil},
		{
			"libraries", g.misplaced(),
			[]string{
				"cmd/sandboxer imports " + hcl + "/hclsyntax, which only core/profile may (" + owners[0].why + ")",
				"cmd/sandboxer imports " + goPlugin + ", which only core/extension may (" + owners[1].why + ")",
			},
		},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: breaches differ (-want +got):\n%s", test.name, diff)
		}
	}
}
