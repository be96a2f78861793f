package memory_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

// A message is leased, fails for good, and is sent back from the quarantine.
func ExampleOpen() {
	ctx := context.Background()
	store := memory.Open(memory.Options{})
	defer store.Close()

	if _, err := store.Enqueue(ctx, "jobs", siding.EnqueueOptions{}, siding.NewMessage{ID: "evt-1", Body: []byte(`{}`)}); err != nil {
		panic(err)
	}
	leased, err := store.Lease(ctx, siding.LeaseRequest{Queue: "jobs", Max: 1, Duration: time.Minute, Policy: siding.DefaultPolicy()})
	if err != nil {
		panic(err)
	}
	settled, err := store.Settle(ctx, siding.Settlement{
		Token: leased.Deliveries[0].Token, Policy: siding.DefaultPolicy(),
		Failure: siding.FailureOf(siding.Permanent(errors.New("no such customer"))),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(settled[0].Decision.State, settled[0].Decision.Reason)

	if _, err := store.Redrive(ctx, "jobs", "evt-1"); err != nil {
		panic(err)
	}
	m, err := store.Get(ctx, "jobs", "evt-1")
	if err != nil {
		panic(err)
	}
	fmt.Println(m.State, m.Attempt, len(m.History))
	// Output:
	// dead poison
	// ready 0 1
}
