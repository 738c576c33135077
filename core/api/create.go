package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/tegwick/sand-boxer/core/apitype"
	"github.com/tegwick/sand-boxer/core/sandbox"
	"github.com/tegwick/sand-boxer/sdk"
)

// Creator makes sandboxes.
type Creator interface {
	Create(ctx context.Context, req sandbox.CreateRequest) (sandbox.Sandbox, error)
}

// create makes a sandbox. When its client leaves, it is ended and nothing is
// left; with an idempotency key it goes on, so that a retry finds the sandbox.
func (s *server) create(x *exchange) error {
	once, err := onceOf(x.request.Header)
	if err != nil {
		return err
	}
	var req apitype.CreateRequest
	if err := x.decode(&req, maxBody); err != nil {
		return err
	}
	ctx := x.request.Context()
	if once != nil {
		if once.BodyHash, err = hashOf(req); err != nil {
			return err
		}
		detached, cancel := s.withoutClient(x.request)
		defer cancel()
		ctx = detached
	}
	begin := time.Now()
	made, err := s.Owner.Create(ctx, sandbox.CreateRequest{
		Profile: req.Profile, Inputs: req.Inputs, Consumer: sandbox.Consumer(req.Consumer),
		TTL: optionalSeconds(req.TTLSeconds), Once: once,
	})
	took := time.Since(begin)
	if err != nil {
		name := strings.TrimPrefix(req.Profile, profilePrefix)
		if !s.Catalog.HasProfile(name) {
			name = ""
		}
		s.Metrics.created(name, took, err)
		return err
	}
	s.Metrics.created(made.Profile, took, nil)
	x.Header().Set("Location", "/v1/sandboxes/"+made.ID)
	return x.reply(http.StatusCreated, ViewSandbox(made))
}

const maxKey = 255

// onceOf reads the idempotency key; nil for none.
func onceOf(h http.Header) (*sandbox.Once, error) {
	given, ok := h[http.CanonicalHeaderKey("Idempotency-Key")]
	if !ok {
		return nil, nil
	}
	visible := func(r rune) bool { return r > ' ' && r < 0x7f }
	if len(given) != 1 || given[0] == "" || len(given[0]) > maxKey || strings.ContainsFunc(given[0], func(r rune) bool { return !visible(r) }) {
		return nil, sdk.Errorf(sdk.CodeInvalidRequest, "the Idempotency-Key header is not one word of 1 to %d visible ASCII characters", maxKey).
			WithHint("use a new UUID for each new request")
	}
	return &sandbox.Once{Key: given[0]}, nil
}

// hashOf is a digest of what a request means: the order of its fields and its
// white space do not matter.
func hashOf(req apitype.CreateRequest) (string, error) {
	req.Profile = strings.TrimPrefix(req.Profile, profilePrefix)
	canonical, err := json.Marshal(req)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
