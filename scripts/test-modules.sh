#!/bin/sh
# Builds and tests each module by itself: go.work hides a missing require.
set -eu
cd "$(dirname "$0")/.."
for m in ${MODULES:-sdk core plugins/bwrap plugins/compose-ssh plugins/vm-packer cmd}; do
	echo "== $m, GOWORK=off"
	(
		cd "$m"
		GOWORK=off go build -o /dev/null ./...
		GOWORK=off go vet ./...
		GOWORK=off go test -timeout 15m ./...
	)
done
