package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tegwick/sand-boxer/sdk"
)

func ids(page Page) []string {
	var out []string
	for _, r := range page.Records {
		out = append(out, r.ID)
	}
	return out
}

func TestListSelects(t *testing.T) {
	s := openStore(t, t.TempDir())
	for i, state := range []State{Ready, Failed, Ready, Destroyed} {
		in(t, s, sandboxID(i), state)
	}
	other := newRecord(sandboxID(4))
	other.Profile, other.Consumer.Project = "other", "other-project"
	insert(t, s, other)

	for _, test := range []struct {
		name   string
		filter Filter
		want   []string
	}{
		{"all", Filter{}, []string{sandboxID(0), sandboxID(1), sandboxID(2), sandboxID(3), sandboxID(4)}},
		{"one state", Filter{States: []State{Ready}}, []string{sandboxID(0), sandboxID(2)}},
		{"two states", Filter{States: []State{Failed, Provisioning}}, []string{sandboxID(1), sandboxID(4)}},
		{"project", Filter{Project: "other-project"}, []string{sandboxID(4)}},
		{"profile", Filter{Profile: "agent-dev", States: []State{Destroyed}}, []string{sandboxID(3)}},
		{"nothing", Filter{Project: "other-project", Profile: "agent-dev"}, nil},
		{"quotes are text", Filter{Project: "' OR 1=1 --"}, nil},
	} {
		page, err := s.List(t.Context(), test.filter)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, ids(page)); diff != "" || page.Next != "" {
			t.Errorf("%s: next is %q, ids differ (-want +got):\n%s", test.name, page.Next, diff)
		}
	}
}

func TestPagesMeetWithoutGapOrOverlap(t *testing.T) {
	s := openStore(t, t.TempDir())
	var want []string
	for i := range 10 {
		want = append(want, insert(t, s, newRecord(sandboxID(i))).ID)
	}
	for limit := 1; limit <= 11; limit++ {
		var got []string
		f := Filter{Limit: limit}
		for {
			page, err := s.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Records) == 0 || len(page.Records) > limit {
				t.Fatalf("limit %d: a page of %d records", limit, len(page.Records))
			}
			got = append(got, ids(page)...)
			if f.Cursor = page.Next; f.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("limit %d: ids differ (-want +got):\n%s", limit, diff)
		}
	}
}

func FuzzListCursor(f *testing.F) {
	s := openStore(f, f.TempDir())
	for i := range 3 {
		insert(f, s, newRecord(sandboxID(i)))
	}
	for _, seed := range []string{"", sandboxID(1), "sbx-", "'; DROP TABLE sandboxes; --", "\x00", "sbx-7zzzzzzzzzzzzzzzzzzzzzzzzz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		page, err := s.List(t.Context(), Filter{Cursor: cursor, Limit: 2})
		if cursor != "" && !sdk.ValidSandboxID(cursor) {
			wantError(t, err, sdk.CodeInvalidRequest, "cursor", "next")
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.Records {
			if r.ID <= cursor {
				t.Errorf("after %q comes %q", cursor, r.ID)
			}
		}
	})
}
