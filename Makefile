# make help lists what there is.
SHELL := /bin/bash
GO ?= go
BIN := $(CURDIR)/.bin
export GOTOOLCHAIN ?= auto

.DEFAULT_GOAL := help
.PHONY: help demo test soak lint bench mutants build fmt clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-8s %s\n", $$1, $$2}'

demo: build ## 800 records through a simulated Claude that fails: watch what happens; needs no account, costs nothing
	@$(GO) run ./examples/wallpapers/demo -siding $(BIN)/siding

test: ## the whole test suite, under the race detector where a C compiler is at hand
	@scripts/test.sh

soak: ## the long tests: ten million lines, the memory they take
	@scripts/soak.sh

lint: ## gofmt, go vet and golangci-lint
	@scripts/lint.sh

bench: build ## how fast the store is on this machine
	@$(BIN)/siding bench

mutants: ## break each rule on purpose, and see that a test notices; takes some minutes
	@$(GO) test -tags mutants ./internal/mutants -run TestNoMutantLives -v -timeout 60m

build: ## the program, as .bin/siding
	@mkdir -p $(BIN)
	@$(GO) build -o $(BIN)/siding ./cmd/siding

fmt: ## format the code
	@gofmt -w $$(git ls-files '*.go')

clean: ## remove what was built
	@rm -rf $(BIN)
