// Command demo runs the wallpapers example against the simulated Claude of profile.yaml, shows what happens, and succeeds
// exactly when what comes out is what expected-summary.json says and the simulator's bill is what Siding reports:
//
//	go run ./examples/wallpapers/demo -siding .bin/siding
//
// It works in a temporary directory, which it leaves behind to look at.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/siding-dev/siding"
)

func main() {
	program := flag.String("siding", ".bin/siding", "the siding program")
	example := flag.String("example", "examples/wallpapers", "the example's folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo(ctx, *program, *example)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, program, example string) error {
	want, err := readExpected(filepath.Join(example, "expected-summary.json"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "siding-demo-")
	if err != nil {
		return err
	}
	r := runner{program: program, example: example, dir: dir}
	var o outcome

	fmt.Print("800 records about wallpapers; 8 of them are broken, each in a way of its own. The Claude that is asked is a simulated\n" +
		"one that throttles, fails and drops connections, as examples/wallpapers/profile.yaml says. It takes about half a minute.\n\n")
	if o.exit, err = r.show(ctx); err != nil {
		return err
	}
	if o.meter, err = r.meter(); err != nil {
		return err
	}
	if o.exitAgain, o.sum, err = r.summarize(ctx); err != nil {
		return err
	}
	if o.again, err = r.meter(); err != nil {
		return err
	}
	if err := want.check(o); err != nil {
		return fmt.Errorf("it did not come out as it should:\n%w\nWhat there is to look at is in %s", err, dir)
	}
	conclude(r, o)
	return nil
}

// conclude says what has been shown, and what to try next.
func conclude(r runner, o outcome) {
	bill := siding.Money(o.meter.Totals.CostPico)
	fmt.Printf(`
What this has shown:
  - %d of %d records are done; exactly the %d broken ones are set aside, each with its cause.
  - %d calls met a planned fault, and no healthy record was lost to that.
  - The simulator's bill is %s. Siding reports %s, and at most %s more for %d calls that may have been
    billed without an answer. No answer was paid for twice.
  - The same command was run again: everything was known, and it made no call.

Next, look at what was set aside, and at the answers:
  %s dlq list --store %s
  head -3 %s
`, o.sum.Done, o.sum.Enqueued, o.sum.Dead, planned(o.meter), bill, dollars(o.sum.CostUSD), dollars(o.sum.UnknownMaxUSD),
		o.sum.UnknownCalls, r.program, r.store(), r.results())
}
