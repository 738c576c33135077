#!/bin/sh
# Everything that is checked without running the program.
set -eu
cd "$(dirname "$0")/.."

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	echo "not formatted; run gofmt -w on:" >&2
	echo "$unformatted" >&2
	exit 1
fi
for m in ${MODULES:-sdk core plugins/bwrap plugins/compose-ssh plugins/vm-packer cmd}; do
	(
		cd "$m"
		GOWORK=off go vet ./...
		GOWORK=off go run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
		GOWORK=off go mod tidy -diff
	)
done
if command -v shellcheck >/dev/null 2>&1; then
	shellcheck scripts/*.sh .ci/run
fi
scripts/generate.sh --check
