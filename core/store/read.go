package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/tegwick/sand-boxer/sdk"
)

// Filter selects records. The zero Filter selects all.
type Filter struct {
	// States selects the records in one of these states; empty: in any.
	States []State
	// Project and Profile select by equality; empty: any.
	Project string
	Profile string
	// Limit bounds the records of a page; 0: no bound.
	Limit int
	// Cursor is the Next of the page before; empty: from the start.
	Cursor string
}

// Page is a part of a list.
type Page struct {
	Records []Record
	// Next is the cursor of the next page; empty where this is the last.
	Next string
}

// Get returns the record of a sandbox. Where there is none the error is of
// [sdk.CodeSandboxNotFound].
func (s *Store) Get(ctx context.Context, id string) (Record, error) {
	r, err := scanRecord(s.get.QueryRowContext(ctx, id).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Record{}, notFound(id)
	}
	return r, s.explain(ctx, "read the record of a sandbox", err)
}

// List returns the records that f selects, oldest first: what is created
// between two pages is then on a later one, and none is missed or seen twice.
func (s *Store) List(ctx context.Context, f Filter) (Page, error) {
	// A cursor is the last id of a page. It comes from clients.
	if f.Cursor != "" && !sdk.ValidSandboxID(f.Cursor) {
		return Page{}, sdk.Errorf(sdk.CodeInvalidRequest, "the cursor is not one that a list returned").
			WithHint("take it from the \"next\" field of the page before, or leave it out").WithField("cursor")
	}
	query, args := f.query()
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return Page{}, s.explain(ctx, "list the sandboxes", err)
	}
	defer rows.Close()
	var page Page
	for rows.Next() {
		r, err := scanRecord(rows.Scan)
		if err != nil {
			return Page{}, s.explain(ctx, "list the sandboxes", err)
		}
		page.Records = append(page.Records, r)
	}
	if err := rows.Err(); err != nil {
		return Page{}, s.explain(ctx, "list the sandboxes", err)
	}
	if f.Limit > 0 && len(page.Records) > f.Limit {
		page.Records = page.Records[:f.Limit]
		page.Next = page.Records[f.Limit-1].ID
	}
	return page, nil
}

// query asks for one record more than f.Limit, to know whether there is a next
// page.
func (f Filter) query() (string, []any) {
	where, args := []string{"id > ?"}, []any{f.Cursor}
	if len(f.States) > 0 {
		where = append(where, "state IN (?"+strings.Repeat(", ?", len(f.States)-1)+")")
		for _, state := range f.States {
			args = append(args, state)
		}
	}
	if f.Project != "" {
		where, args = append(where, "project = ?"), append(args, f.Project)
	}
	if f.Profile != "" {
		where, args = append(where, "profile = ?"), append(args, f.Profile)
	}
	query := "SELECT " + columns + " FROM sandboxes WHERE " + strings.Join(where, " AND ") + " ORDER BY id"
	if f.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, int64(f.Limit)+1)
	}
	return query, args
}
