package main

import (
	"encoding/json"

	"github.com/tegwick/sand-boxer/plugins/bwrap/internal/proc"
	"github.com/tegwick/sand-boxer/sdk"
)

// handleVersion is the version of the format of note.
const handleVersion = 1

// note is what the host stores for us between calls. Every call works without
// it too; it saves a search for the processes.
type note struct {
	// Init is pid 1 of the namespaces, as the host sees it.
	Init proc.ID `json:"init"`
	// Monitor is bwrap itself, which waits for Init outside.
	Monitor proc.ID `json:"monitor"`
}

func (n note) handle() (sdk.Handle, error) {
	b, err := json.Marshal(n)
	return sdk.Handle{Version: handleVersion, Data: b}, err
}

// noteOf returns the zero note for an empty or foreign handle.
func noteOf(h sdk.Handle) note {
	var n note
	if h.Version != handleVersion || json.Unmarshal(h.Data, &n) != nil {
		return note{}
	}
	return n
}
