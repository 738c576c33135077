package api

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/julienschmidt/httprouter"
)

// Owner is what the API needs of a *sandbox.Owner.
type Owner interface {
	Creator
	Reader
	Executor
	Renewer
	Destroyer
}

// Config is what a handler is made of.
type Config struct {
	Owner   Owner
	Catalog Catalog
	Metrics *Metrics
	Log     hclog.Logger
	// Token is the bearer. Without one the exec route is disabled, and over
	// TCP all others but /healthz are refused.
	Token string
	// IsOurHost tells whether a host name, without port, is one of the
	// service's beside those of the loopback interface. Nil: none is.
	IsOurHost func(name string) bool
	// BodyTimeout is how long a client may take to send a body; 0 is 30 s.
	BodyTimeout time.Duration
	// Stop ends when the service waits no longer for running requests. What
	// goes on without its client goes on until then. Nil: for ever.
	Stop context.Context
}

// server is a Config in use.
type server struct {
	Config
	// tokenHash is compared in place of the token: it has one length.
	tokenHash [sha256.Size]byte
}

// access says who may use a route.
type access int

const (
	// anybody may, over TCP too.
	anybody access = iota
	// local users may; over TCP who has the bearer.
	local
	// bearer alone may, on the Unix socket too.
	bearer
)

// route is one row of the API.
type route struct {
	method, path string
	access       access
	handle       handler
	// query lists the query parameters; others are refused.
	query []string
}

// routes is the whole API.
func (s *server) routes() []route {
	return []route{
		{"GET", "/healthz", anybody, alive, nil},
		{"GET", "/readyz", local, ready(s.Owner, s.Catalog), nil},
		{"GET", "/metrics", local, s.Metrics.serve, nil},
		{"GET", "/v1/openapi.yaml", local, serveSpec, nil},
		{"POST", "/v1/sandboxes", local, s.create, nil},
		{"GET", "/v1/sandboxes", local, list(s.Owner), listQuery},
		{"GET", "/v1/sandboxes/:id", local, show(s.Owner), nil},
		{"DELETE", "/v1/sandboxes/:id", local, s.destroy, nil},
		{"GET", "/v1/sandboxes/:id/reachability", local, reach(s.Owner), nil},
		{"POST", "/v1/sandboxes/:id/exec", bearer, execute(s.Owner, s.Metrics), nil},
		{"POST", "/v1/sandboxes/:id/renew", local, renew(s.Owner), nil},
		{"GET", "/v1/profiles", local, profiles(s.Catalog), nil},
		{"GET", "/v1/extensions", local, extensions(s.Catalog), nil},
	}
}

// New returns the API. It belongs behind an http.Server that bounds the time of
// headers; the time of bodies and replies is bounded here.
func New(c Config) http.Handler {
	if c.BodyTimeout == 0 {
		c.BodyTimeout = defaultBodyTimeout
	}
	s := &server{Config: c, tokenHash: sha256.Sum256([]byte(c.Token))}
	c.Metrics.watch(c.Owner)
	router := &httprouter.Router{
		HandleMethodNotAllowed: true,
		NotFound:               s.refuse(errNoRoute),
		MethodNotAllowed:       s.refuse(errNoMethod),
	}
	for _, r := range s.routes() {
		router.Handle(r.method, r.path, s.endpoint(r))
	}
	return s.observe(router)
}

// endpoint is the way of a request from the router to its handler.
func (s *server) endpoint(r route) httprouter.Handle {
	return func(w http.ResponseWriter, _ *http.Request, params httprouter.Params) {
		x := w.(*exchange) // observe made it
		x.route, x.params = r.method+" "+r.path, params
		err := s.admit(x, r.access)
		if err == nil {
			err = checkQuery(x.request, r.query)
		}
		if err == nil {
			err = r.handle(x)
		}
		if err != nil {
			s.fail(x, err)
		}
	}
}

// refuse answers what no route is there for. Who may not know the routes does
// not learn of them.
func (s *server) refuse(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		x := w.(*exchange)
		if denied := s.admit(x, local); denied != nil {
			s.fail(x, denied)
			return
		}
		s.fail(x, err)
	})
}
