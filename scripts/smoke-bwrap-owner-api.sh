#!/bin/sh
# Proves the owner API with the real bwrap and curl: create, the bearer on exec,
# execute, identity, destroy, nothing left. The token goes by file alone.
set -eu
cd "$(dirname "$0")/.."
sandboxer=$PWD/bin/sandboxer

SANDBOXER_STATE_DIR=$(mktemp -d /tmp/sandboxer-smoke.XXXXXX)
source=$(mktemp -d /tmp/sandboxer-smoke-source.XXXXXX)
private=$(mktemp -d /tmp/sandboxer-smoke-private.XXXXXX)
export SANDBOXER_STATE_DIR
chmod 0711 "$SANDBOXER_STATE_DIR"
echo content >"$source/file"
(
	umask 077
	head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$private/token"
	printf 'Authorization: Bearer %s\n' "$(cat "$private/token")" >"$private/header"
)

server=
id=
cleanup() {
	[ -z "$id" ] || "$sandboxer" destroy "$id" >/dev/null 2>&1 || true
	[ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
	rm -rf "$SANDBOXER_STATE_DIR" "$source" "$private"
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

mkfifo "$private/ready"
SANDBOXER_EXEC_TOKEN_FILE=$private/token "$sandboxer" serve --socket "$private/sock" --source-root "$source" \
	>"$private/ready" 2>"$private/log" &
server=$!
read -r line <"$private/ready" || {
	cat "$private/log" >&2
	exit 1
}
check "the service is ready" "$line" "ready on unix://$private/sock"

# api METHOD PATH [BODY [CURL-OPTION]...]: the body of the reply, then its status.
api() {
	method=$1 path=$2 body=${3-}
	if [ $# -lt 3 ]; then shift 2; else shift 3; fi
	curl -sS --unix-socket "$private/sock" -X "$method" "http://localhost$path" -H 'Content-Type: application/json' \
		${body:+-d "$body"} -w '\n%{http_code}' "$@"
}
status() { printf '%s\n' "$1" | tail -n 1; }
field() { printf '%s\n' "$1" | sed -n 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\).*/\1/p' | head -n 1; }
consumer='"consumer": {"actor": "smoke", "project": "sand-boxer", "session_id": "smoke", "run_id": "1"}'
exec_body='{"command": ["cat", "file"], '$consumer'}'

reply=$(api POST /v1/sandboxes '{"profile": "bwrap-local", "inputs": {"repo": "'"$source"'"}, '"$consumer"'}')
check "create" "$(status "$reply")" 201
id=$(field "$reply" sandbox_id)
reply=$(api POST "/v1/sandboxes/$id/exec" "$exec_body")
check "exec without the bearer" "$(status "$reply") $(field "$reply" code)" "401 unauthenticated"
reply=$(api POST "/v1/sandboxes/$id/exec" "$exec_body" -H "@$private/header")
check "exec with the bearer" "$(status "$reply") $(field "$reply" outcome) $(field "$reply" stdout)" '200 exited content\n'
reply=$(api POST "/v1/sandboxes/$id/exec" '{"command": ["test", "-e", "'"$source"'"], '"$consumer"'}' -H "@$private/header")
check "the source is absent inside" "$(status "$reply") $(field "$reply" exit_code)" "200 1"
reply=$(api POST "/v1/sandboxes/$id/exec" "$(printf '%s' "$exec_body" | sed 's/"run_id": "1"/"run_id": "2"/')" -H "@$private/header")
check "another identity" "$(status "$reply") $(field "$reply" code)" "403 identity_mismatch"
reply=$(api DELETE "/v1/sandboxes/$id")
check "destroy" "$(status "$reply") $(field "$reply" state)" "200 destroyed"
check "no process is left" "$(pgrep -f -- "$id" || true)" ""
check "no file is left" "$(find "$SANDBOXER_STATE_DIR" -name "*$id*")" ""
check "the token is in no log" "$(grep -c -f "$private/token" "$private/log" || true)" 0
id=
