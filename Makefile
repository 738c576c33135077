# sand-boxer. `make help` lists the targets.

VERSION  := $(shell cat VERSION)
MODULES  := sdk core plugins/bwrap plugins/compose-ssh plugins/vm-packer cmd
LDFLAGS  := -s -w -X main.version=$(VERSION)
GO_BUILD := umask 022 && CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'
PREFIX   ?= /usr/local

export VERSION MODULES

.DEFAULT_GOAL := build
.PHONY: build install demo test smoke-bwrap-exec smoke-bwrap-owner-api bench lint generate clean help

# The host refuses an extension that others may write to, whatever the umask.
build: ## build the host and the extensions into bin/
	@install -d -m 0755 bin bin/plugins
	$(GO_BUILD) -o bin/sandboxer ./cmd/sandboxer
	$(GO_BUILD) -o bin/plugins/sandboxer-ext-bwrap ./plugins/bwrap

install: build ## install below PREFIX (default /usr/local)
	install -D -m 0755 bin/sandboxer $(DESTDIR)$(PREFIX)/bin/sandboxer
	install -D -m 0755 bin/plugins/sandboxer-ext-bwrap $(DESTDIR)$(PREFIX)/lib/sandboxer/extensions/sandboxer-ext-bwrap
	install -D -m 0644 profiles/bwrap-local.hcl $(DESTDIR)$(PREFIX)/share/sandboxer/profiles/bwrap-local.hcl

demo: ## install what is missing, then show a sandbox from birth to death
	scripts/install-deps.sh run
	@$(MAKE) --no-print-directory build
	scripts/demo.sh

test: ## install what tests need and run every test, as root and as an ordinary user where both can be
	scripts/install-deps.sh test
	@$(MAKE) --no-print-directory build
	scripts/test.sh

smoke-bwrap-exec: ## prove create, execute, absence of the source, destroy with the real bwrap
	scripts/install-deps.sh run
	@$(MAKE) --no-print-directory build
	scripts/smoke-bwrap-exec.sh

smoke-bwrap-owner-api: ## prove the bearer-protected HTTP route with the real bwrap and curl
	scripts/install-deps.sh test
	@$(MAKE) --no-print-directory build
	scripts/smoke-bwrap-owner-api.sh

bench: ## run the benchmarks whose figures stand in docs/performance.md
	scripts/install-deps.sh test
	@$(MAKE) --no-print-directory build
	scripts/bench.sh

lint: ## gofmt, go vet, staticcheck, shellcheck, and the drift of generated code
	scripts/lint.sh

generate: ## make the protobuf code anew
	scripts/generate.sh

clean: ## remove what build made
	rm -rf bin .cache

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
