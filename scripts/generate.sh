#!/usr/bin/env bash
# Generates sdk/wire/pluginpb from plugin.proto.
#
#   scripts/generate.sh           lint, then write the generated files
#   scripts/generate.sh --check   lint, then fail if the committed files differ
#
# The tools are Go modules at fixed versions; nothing else is fetched.
set -euo pipefail

case "${1:-}" in
'' | --check) ;;
*)
  echo "usage: scripts/generate.sh [--check]" >&2
  exit 2
  ;;
esac

cd "$(dirname "${BASH_SOURCE[0]}")/../sdk/wire"
# The tools resolve their own modules, not those of this workspace.
export GOWORK=off GOFLAGS=-mod=mod

buf() { go run github.com/bufbuild/buf/cmd/buf@v1.75.0 "$@"; }

buf lint

if [[ ${1:-} != --check ]]; then
  buf generate
  exit
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
buf generate --output "$out"
for file in plugin.pb.go plugin_grpc.pb.go; do
  if ! diff -u "pluginpb/$file" "$out/pluginpb/$file"; then
    echo "sdk/wire/pluginpb/$file is out of date: run scripts/generate.sh and commit the result" >&2
    exit 1
  fi
done
