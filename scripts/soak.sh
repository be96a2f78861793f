#!/usr/bin/env bash
# The tests behind the build tag soak: long, and without the race detector, which would change the memory they measure.
set -euo pipefail
cd "$(dirname "$0")/.."
go test -tags soak -run Soak -count=1 -v -timeout 60m "${@:-./...}"
go test -count=1 -timeout 0 ./worker -run 'TestSimulation$' -v -args -sim.histories "${HISTORIES:-1000000}"
