// Command siding runs asynchronous jobs against services that fail and cost money. This package is the command line: it
// wires the parts together and holds no rules of its own.
package main

import (
	"context"
	"os"

	"github.com/siding-dev/siding/worker"
)

func main() {
	ctx, release := worker.Signals(context.Background())
	code := Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
	release()
	os.Exit(code)
}
