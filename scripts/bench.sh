#!/bin/sh
# Runs the benchmarks of docs/performance.md, each beside its baseline. Where
# dockerd is installed and no engine answers, it is started for the run.
set -eu
cd "$(dirname "$0")/.."

dockerd=
cleanup() {
	[ -z "$dockerd" ] || { kill "$dockerd" && wait "$dockerd"; } 2>/dev/null || true
}
trap cleanup EXIT
if [ "$(id -u)" -eq 0 ] && command -v dockerd >/dev/null && ! docker info >/dev/null 2>&1; then
	dockerd >/dev/null 2>&1 &
	dockerd=$!
	n=0
	until docker info >/dev/null 2>&1 || [ $n -ge 60 ]; do
		n=$((n + 1))
		sleep 0.5
	done
fi

bench() {
	dir=$1
	shift
	go test -run '^$' "$@" "./$dir" | grep -E '^(Benchmark|cpu:|ok|---|FAIL)' | grep -v 'BENCH'
}
nproc
uname -r
bench plugins/bwrap -bench 'ForkExec|BareBwrap|BenchmarkExec|Create' -benchtime "${BENCHTIME:-300x}"
bench plugins/bwrap -bench 'Drain' -benchtime 20x
bench plugins/bwrap -bench 'Idle' -benchtime 1x
bench cmd/sandboxer -bench 'HTTP|CLI|Docker' -benchtime "${BENCHTIME:-300x}" -timeout 20m
bench sdk/workspace -bench Copy -benchtime 3x
