#!/bin/sh
# Runs the tests of the packages that touch processes and files as an ordinary
# user, from a copy of the tree that this user can read. Run it as root.
set -eu
cd "$(dirname "$0")/.."
user=${SANDBOXER_TEST_USER:-nobody}

work=$(mktemp -d /tmp/sandboxer-as-user.XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 0755 "$work"
mkdir "$work/tree" "$work/home"
git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t "$work/tree"
install -D -m 0755 bin/plugins/sandboxer-ext-bwrap "$work/extensions/sandboxer-ext-bwrap"
go build -o "$work/plugin" ./core/extension/testdata/plugin

packages="sdk/wire sdk/workspace core/api core/audit core/extension core/profile core/store core/sandbox
plugins/bwrap plugins/bwrap/internal/broker plugins/bwrap/internal/proc cmd/sandboxer"
for dir in $packages; do
	go test -c -o "$work/tree/$dir/as-user.test" "./$dir"
done
# The tests link the plugin, and an extension must belong to root or the user.
chown -R "$user" "$work/tree" "$work/home" "$work/plugin" "$work/extensions"
status=0
for dir in $packages; do
	echo "== $dir, as $user"
	(
		cd "$work/tree/$dir"
		setpriv --reuid="$user" --regid="$(id -g "$user")" --clear-groups \
			env -i PATH="$PATH" HOME="$work/home" TMPDIR=/tmp CI="${CI:-}" \
			SANDBOXER_TEST_PLUGIN="$work/plugin" SANDBOXER_TEST_EXTENSIONS="$work/extensions" \
			./as-user.test -test.timeout=10m
	) || status=1
done
exit $status
