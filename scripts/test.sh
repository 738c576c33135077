#!/bin/sh
# Runs every test. As root, the packages that make real sandboxes run a second
# time as an ordinary user.
set -eu
cd "$(dirname "$0")/.."

packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}' work)
echo "== go test, as $(id -un)"
# shellcheck disable=SC2086 # words are meant
go test -timeout 15m $packages

if [ "$(id -u)" -eq 0 ]; then
	echo "== go test, as an ordinary user"
	scripts/test-as-user.sh
else
	echo "== the tests did not run as root: run make test as root for that" >&2
fi
scripts/test-modules.sh
