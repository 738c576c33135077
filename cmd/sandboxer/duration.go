package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
)

// seconds is a flag that takes a duration of whole seconds, as "30s" or "1h30m".
type seconds struct{ value *int64 }

func (s *seconds) String() string {
	if s.value == nil {
		return ""
	}
	return (time.Duration(*s.value) * time.Second).String()
}

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, nerr := strconv.ParseFloat(text, 64); nerr == nil {
			return fmt.Errorf("%q has no unit: write %ss", text, text)
		}
		return fmt.Errorf("%q is not a duration: write it as 30s, 15m or 1h30m", text)
	}
	if d%time.Second != 0 || d < time.Second {
		return fmt.Errorf("%q is not one or more whole seconds", text)
	}
	n := int64(d / time.Second)
	s.value = &n
	return nil
}

func (s *seconds) Type() string { return "duration" }

func secondsFlag(cmd *cobra.Command, s *seconds, name, usage string) {
	cmd.Flags().Var(s, name, usage)
}
