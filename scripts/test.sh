#!/bin/sh
# Runs every test: of each module by itself, since go.work hides a missing
# require, and as root a second time as an ordinary user.
set -eu
cd "$(dirname "$0")/.."

echo "== the workspace builds"
go build -o /dev/null work

# The built extension serves the tests of the command line.
SANDBOXER_TEST_EXTENSIONS=$PWD/bin/plugins
export SANDBOXER_TEST_EXTENSIONS
for m in ${MODULES:-sdk core plugins/bwrap plugins/compose-ssh plugins/vm-packer cmd}; do
	echo "== $m, as $(id -un)"
	(
		cd "$m"
		GOWORK=off go vet ./...
		GOWORK=off go test -timeout 15m ./...
	)
done
if [ "$(id -u)" -eq 0 ]; then
	scripts/test-as-user.sh
else
	echo "== the tests did not run as root: run make test as root for that" >&2
fi
