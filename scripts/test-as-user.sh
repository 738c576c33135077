#!/bin/sh
# Runs the tests of the packages that touch processes and files as an ordinary
# user, from a copy of the tree that this user can read. Run it as root.
set -eu
cd "$(dirname "$0")/.."
top=$PWD
user=${SANDBOXER_TEST_USER:-nobody}

work=$(mktemp -d /tmp/sandboxer-as-user.XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"
mkdir "$work/tree" "$work/home"
git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$work/tree"
cp -r bin "$work/tree/bin"
mkdir "$work/prebuilt"
SANDBOXER_TEST_PREBUILT=$work/prebuilt go test -count=1 -run '^$' ./core/extension >/dev/null

status=0
for dir in sdk/wire sdk/workspace core/audit core/extension core/profile core/store core/sandbox plugins/bwrap plugins/bwrap/internal/broker plugins/bwrap/internal/proc cmd/sandboxer; do
	ls "$dir"/*_test.go >/dev/null 2>&1 || continue
	go test -c -o "$work/tree/$dir/as-user.test" "./$dir"
done
chown -R "$user" "$work/tree" "$work/home"
for bin in $(find "$work/tree" -name as-user.test | sort); do
	dir=$(dirname "$bin")
	printf '%s ' "${dir#"$work/tree/"}"
	(
		cd "$dir"
		setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
			env -i PATH="$PATH" HOME="$work/home" TMPDIR=/tmp CI="${CI:-}" SANDBOXER_TEST_PREBUILT="$work/prebuilt" \
			./as-user.test -test.timeout=10m
	) || status=1
done
cd "$top"
exit $status
