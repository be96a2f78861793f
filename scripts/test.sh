#!/usr/bin/env bash
# The whole suite. What goes by is what go test says of each package; the whole record is in .bin/test.log. Tests that were
# skipped are named at the end, and are a failure with SKIPS=fail (as in continuous integration, where all is installed).
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

mkdir -p .bin
log=.bin/test.log
status=0
go test -v "${race[@]}" -shuffle=on -timeout 20m "${@:-./...}" 2>&1 | tee "$log" |
  grep --line-buffered -E '^(ok|FAIL|panic:|WARNING: DATA RACE|[?#] |\s*--- FAIL|[^ ]+\.go:[0-9]+:[0-9]+:)' || status=$?

if [ "$status" -ne 0 ]; then
  echo
  echo "What failed, from $log:"
  # From each failure, the lines around it.
  grep -nE -B 60 -A 5 '^\s*--- FAIL|^panic:|DATA RACE|^FAIL' "$log" | tail -n 400
  exit "$status"
fi
skipped=$(grep -E '^\s*--- SKIP' "$log" || true)
if [ -n "$skipped" ]; then
  echo
  echo "Skipped here:"
  grep -E -B 3 '^\s*--- SKIP' "$log"
  [ "${SKIPS:-}" != fail ] || { echo "a skipped test is a failure here (SKIPS=fail)"; exit 1; }
fi
