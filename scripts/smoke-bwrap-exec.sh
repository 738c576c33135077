#!/bin/sh
# Proves with the real bwrap: create, execute, the source is absent inside,
# destroy, nothing left. Prints no secret; there is none.
set -eu
cd "$(dirname "$0")/.."
sandboxer=$PWD/bin/sandboxer

SANDBOXER_STATE_DIR=$(mktemp -d /tmp/sandboxer-smoke.XXXXXX)
source=$(mktemp -d /tmp/sandboxer-smoke-source.XXXXXX)
export SANDBOXER_STATE_DIR
export SANDBOXER_ACTOR=smoke SANDBOXER_PROJECT=sand-boxer SANDBOXER_SESSION_ID=smoke SANDBOXER_RUN_ID="$$"
chmod 0711 "$SANDBOXER_STATE_DIR"
echo content >"$source/file"

id=
cleanup() {
	[ -z "$id" ] || "$sandboxer" destroy "$id" >/dev/null 2>&1 || true
	rm -rf "$SANDBOXER_STATE_DIR" "$source"
}
trap cleanup EXIT
check() {
	if [ "$2" = "$3" ]; then
		echo "ok: $1"
	else
		echo "FAILED: $1: got '$2', want '$3'" >&2
		exit 1
	fi
}

id=$("$sandboxer" create --profile bwrap-local --input repo="$source" --quiet)
check "execute" "$("$sandboxer" exec "$id" -- cat file)" content
check "the exit code is the command's" "$("$sandboxer" exec "$id" -- sh -c 'exit 7' || echo $?)" 7
check "the source is absent" "$("$sandboxer" exec "$id" -- sh -c "test -e $source && echo present || echo absent")" absent
check "a change stays inside" "$("$sandboxer" exec "$id" -- sh -c 'echo x >file')$(cat "$source/file")" content
check "nothing survives a command" "$("$sandboxer" exec "$id" -- sh -c 'setsid -f sleep 300; echo hi')" hi
check "another identity is refused" "$("$sandboxer" exec "$id" --run-id other -- true 2>/dev/null || echo $?)" 125
"$sandboxer" destroy "$id" >/dev/null
left=$(pgrep -f -- "$id" || true)
check "no process is left" "$left" ""
check "no file is left" "$(find "$SANDBOXER_STATE_DIR" -name "*$id*")" ""
id=
