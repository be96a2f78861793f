#!/usr/bin/env bash
# gofmt, go vet, and golangci-lint in a fixed version, built from source into .bin once.
set -euo pipefail
cd "$(dirname "$0")/.."

version=v2.15.0
linter=.bin/golangci-lint-$version

if [ ! -x "$linter" ]; then
  echo "building golangci-lint $version (once; some minutes)"
  mkdir -p .bin/install
  # Outside the module, so that its go.mod has no say.
  (cd / && GOBIN="$OLDPWD/.bin/install" GOFLAGS=-mod=mod go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version")
  mv .bin/install/golangci-lint "$linter"
fi

unformatted=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
if [ -n "$unformatted" ]; then
  echo "not formatted (make fmt):"
  echo "$unformatted"
  exit 1
fi
go vet ./...
go vet -tags soak ./...
"$linter" run ./...
echo "lint: nothing to say"
