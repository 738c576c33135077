#!/bin/sh
# Installs what is missing on Debian and Ubuntu; elsewhere says what to install.
# usage: install-deps.sh run|test
set -eu

case "${1:-}" in
run) want="bwrap:bubblewrap git:git pgrep:procps" ;;
test) want="bwrap:bubblewrap git:git pgrep:procps curl:curl python3:python3 setpriv:util-linux unshare:util-linux shellcheck:shellcheck sshd:openssh-server" ;;
*)
	echo "usage: $0 run|test" >&2
	exit 2
	;;
esac

# Debian keeps some programs where an ordinary user's PATH does not look.
PATH=$PATH:/usr/sbin:/sbin
missing=
for w in $want; do
	command -v "${w%%:*}" >/dev/null 2>&1 || missing="$missing ${w#*:}"
done
# bwrap runs inside a sandbox's view, where only /usr's python3 exists.
if [ "$1" = test ] && [ ! -x /usr/bin/python3 ]; then
	missing="$missing python3"
fi
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
	echo "missing:$missing. Install them with this system's package manager, then try again." >&2
	exit 1
fi
sudo=
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null 2>&1 || {
		echo "missing:$missing. Run as root: apt-get install$missing" >&2
		exit 1
	}
	sudo=sudo
fi
echo "installing:$missing" >&2
install() {
	# shellcheck disable=SC2086 # words are meant
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >&2
}
# A fresh machine has no package lists, or old ones.
install || {
	$sudo apt-get update -q >&2
	install
}
