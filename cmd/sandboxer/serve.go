package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/tegwick/sand-boxer/core/api"
	"github.com/tegwick/sand-boxer/core/sandbox"
)

// serveFlags are the flags of serve.
type serveFlags struct {
	socket          string
	listen          []string
	tlsCert, tlsKey string
	insecureListen  bool
	sourceRoots     []string
	logFormat       string
	drainTimeout    time.Duration
	reapInterval    time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the resident owner service, which answers over HTTP",
		Long: `serve answers the owner API over HTTP on a Unix socket that this user alone may
use, and on the TCP addresses of --listen. It prints one line with its addresses
when it is ready. Sockets that systemd hands over replace the default socket.

Over TCP every route but /healthz needs a bearer token; exec needs it on the
Unix socket too and is disabled without one. The token is read, in one of these
places, from the file that SANDBOXER_EXEC_TOKEN_FILE names, from the systemd
credential SANDBOXER_EXEC_TOKEN, or from the variable SANDBOXER_EXEC_TOKEN.

What is copied into a sandbox must lie below a --source-root.

At SIGTERM or SIGINT it takes no more requests, lets running ones end within
--drain-timeout, and then ends their commands. A second signal ends it at once.
Sandboxes live on in any case.`,
		Example: `  sandboxer serve --source-root /srv/repos
  SANDBOXER_EXEC_TOKEN_FILE=/etc/sandboxer/token \
      sandboxer serve --listen 127.0.0.1:7040 --source-root /srv/repos --log-format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("addr") {
				return usageError{cmd, errors.New("--addr names a service to ask; --socket and --listen say where this one listens")}
			}
			if err := f.check(); err != nil {
				return usageError{cmd, err}
			}
			return a.serve(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.socket, "socket", "", "the Unix socket (default /run/sandboxer/sandboxer.sock for root, else sandboxer/sandboxer.sock in $XDG_RUNTIME_DIR)")
	flags.StringArrayVar(&f.listen, "listen", nil, "a TCP address to listen on too, as 127.0.0.1:7040; may be repeated")
	flags.StringVar(&f.tlsCert, "tls-cert", "", "serve TCP over TLS with the certificate in this PEM file")
	flags.StringVar(&f.tlsKey, "tls-key", "", "the PEM file with the key of --tls-cert")
	flags.BoolVar(&f.insecureListen, "insecure-listen", false, "allow TCP beyond the loopback interface without TLS: whoever is on the way reads the token")
	flags.StringArrayVar(&f.sourceRoots, "source-root", nil, "allow directories below this one to be copied into sandboxes; may be repeated")
	flags.StringVar(&f.logFormat, "log-format", "text", "the form of the log on stderr: text or json")
	flags.DurationVar(&f.drainTimeout, "drain-timeout", 30*time.Second, "how long running requests may go on after SIGTERM")
	flags.DurationVar(&f.reapInterval, "reap-interval", 30*time.Second, "how often expired sandboxes are destroyed")
	return cmd
}

// check finds what is wrong with the flags alone.
func (f *serveFlags) check() error {
	switch {
	case f.logFormat != "text" && f.logFormat != "json":
		return fmt.Errorf("--log-format %q is neither text nor json", f.logFormat)
	case f.drainTimeout < 0:
		return errors.New("--drain-timeout is less than nothing")
	case f.reapInterval <= 0:
		return errors.New("--reap-interval is not more than nothing")
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key belong together: give both")
	}
	for _, root := range f.sourceRoots {
		if !filepath.IsAbs(root) {
			return fmt.Errorf("--source-root %q is not an absolute path", root)
		}
		if fi, err := os.Stat(root); err != nil || !fi.IsDir() {
			return fmt.Errorf("--source-root %s is not a directory", root)
		}
	}
	return nil
}

// serve runs the service until ctx ends.
func (a *app) serve(ctx context.Context, f serveFlags) (err error) {
	token, err := readToken()
	if err != nil {
		return err
	}
	log := hclog.New(&hclog.LoggerOptions{
		Name: "sandboxer", Level: logLevel(hclog.Info), Output: a.stderr, JSONFormat: f.logFormat == "json",
	})
	metrics := api.NewMetrics()
	l, err := openState(ctx, sandbox.Config{Log: log, SourceRoots: f.sourceRoots, OnlySourceRoots: true}, metrics.ExtensionRestarted)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	listeners, err := f.open(l.owner.StateDir, log)
	if err != nil {
		return err
	}
	defer listeners.close() // again, where the service has not come to it
	f.warn(listeners, token, log)
	s := newResident(ctx, f, l, listeners, api.Config{
		Owner: l.owner, Catalog: newCatalog(l, log), Metrics: metrics, Log: log, Token: token, IsOurHost: listeners.isOurHost,
	})
	return s.run(ctx, func() error { return a.announce(listeners.addresses()) })
}

// warn says at the start what somebody will wonder at later.
func (f *serveFlags) warn(l *listeners, token string, log hclog.Logger) {
	if token == "" {
		log.Warn("exec is disabled: there is no token", "fix", "set SANDBOXER_EXEC_TOKEN_FILE")
	}
	if len(f.sourceRoots) == 0 {
		log.Warn("no directory may be copied into a sandbox: there is no source root", "fix", "give --source-root")
	}
	if l.exposed {
		log.Warn("a listener beyond the loopback interface has no TLS: whoever is on the way reads the token")
	}
}

// announce prints the addresses, in the form that SANDBOXER_ADDR takes.
func (a *app) announce(addresses []string) error {
	v := struct {
		Addresses []string `json:"addresses"`
	}{addresses}
	return a.print(v, func(w io.Writer) { fmt.Fprintln(w, "ready on", strings.Join(addresses, " ")) })
}
