package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/tegwick/sand-boxer/core/apitype"
)

// identityFlags adds the four flags of a consumer. Each falls back to its
// variable; which of them are required is the owner's to say.
func identityFlags(cmd *cobra.Command, c *apitype.Consumer) {
	for _, f := range []struct {
		field     *string
		flag, env string
		usage     string
	}{
		{&c.Actor, "actor", "SANDBOXER_ACTOR", "who acts"},
		{&c.Project, "project", "SANDBOXER_PROJECT", "the project it is for"},
		{&c.SessionID, "session-id", "SANDBOXER_SESSION_ID", "the session it belongs to"},
		{&c.RunID, "run-id", "SANDBOXER_RUN_ID", "the run it belongs to"},
	} {
		cmd.Flags().StringVar(f.field, f.flag, os.Getenv(f.env), f.usage+" ($"+f.env+")")
		// A default from the environment is the user's own, not the help's.
		cmd.Flags().Lookup(f.flag).DefValue = ""
	}
}
