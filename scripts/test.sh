#!/usr/bin/env bash
# The whole suite. What goes by is go test's line for each package and what failed tests said; everything is in
# .bin/test.json. Tests that were skipped are named at the end, and are a failure with SKIPS=fail (as in continuous
# integration, where all that they need is installed).
#
#     scripts/test.sh [ARGUMENTS OF go test]      by default ./...
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/need.sh
. scripts/need.sh

race_flags
# One test runs the official client for Node against the simulator.
need npm nodejs npm || echo "npm is not here: the test with the official Node client will be skipped" >&2
# One example runs a few lines of Python.
need python3 python3 || echo "python3 is not here: the tests of examples/readings will be skipped" >&2
# The shared store is tested on a server of its own.
need_postgres || echo "PostgreSQL's server is not here: the tests of the shared store will be skipped" >&2

mkdir -p .bin
go build -o .bin/testreport ./internal/testreport
go test -json "${race[@]}" -shuffle=on -timeout 20m "${@:-./...}" | tee .bin/test.json | .bin/testreport "-skips=${SKIPS:-}"
if [ $# -eq 0 ]; then
  # Simulated histories run one goroutine at a time: without the race detector there are twenty times as many.
  go test -count=1 -timeout 10m ./worker -run 'TestSimulation$' -args -sim.histories "${HISTORIES:-2000}"
fi
