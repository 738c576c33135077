#!/bin/sh
# A sandbox from birth to death, with this repository as its source.
set -eu
cd "$(dirname "$0")/.."
source=$PWD
# A state directory of the demo's own: nothing of a real one is touched.
SANDBOXER_STATE_DIR=$(mktemp -d /tmp/sandboxer-demo.XXXXXX)
chmod 0711 "$SANDBOXER_STATE_DIR"
export SANDBOXER_STATE_DIR
export SANDBOXER_ACTOR="${USER:-demo}" SANDBOXER_PROJECT=sand-boxer SANDBOXER_SESSION_ID=demo SANDBOXER_RUN_ID=demo-1
sandboxer=$source/bin/sandboxer
id=
cleanup() {
	[ -z "$id" ] || "$sandboxer" destroy "$id" >/dev/null 2>&1 || true
	rm -rf "$SANDBOXER_STATE_DIR"
}
trap cleanup EXIT
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
fail() {
	echo "demo: $*" >&2
	exit 1
}

say "sandboxer create --profile bwrap-local --input repo=$source"
"$sandboxer" create --profile bwrap-local --input repo="$source"
id=$("$sandboxer" list -o json | sed -n 's/.*"sandbox_id": *"\([^"]*\)".*/\1/p' | head -n 1)

say "sandboxer exec $id -- sh -c 'id -un; pwd; git log --oneline -n 3'"
"$sandboxer" exec "$id" -- sh -c 'id -un; pwd; git log --oneline -n 3'

say "sandboxer exec $id -- ls $source        # the source does not exist inside"
"$sandboxer" exec "$id" -- ls "$source" && fail "the source exists inside"

say "sandboxer exec $id -- tail -n +3 /proc/net/dev        # no network but a loopback of its own"
devices=$("$sandboxer" exec "$id" -- tail -n +3 /proc/net/dev)
echo "$devices"
case $devices in
*lo:*) [ "$(echo "$devices" | wc -l)" -eq 1 ] || fail "there is a network device" ;;
*) fail "there is no loopback" ;;
esac

say "sandboxer destroy $id"
"$sandboxer" destroy "$id"
left=$(pgrep -fl -- "$id" || true)
files=$(find "$SANDBOXER_STATE_DIR" -name "*$id*")
id=
say "what is left of it: processes, files"
[ -z "$left" ] || fail "processes are left: $left"
[ -z "$files" ] || fail "files are left: $files"
echo "nothing"
