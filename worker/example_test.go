package worker_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/worker"
)

// Work until the queue is empty. One message fails for good, and is set aside.
func ExampleWorker_Run() {
	ctx := context.Background()
	store := memory.Open(memory.Options{}) // or sqlite.Open(ctx, "jobs.db", …)
	defer store.Close()
	_, err := store.Enqueue(ctx, "reminders", siding.EnqueueOptions{},
		siding.NewMessage{ID: "evt-1", Body: []byte(`{"to":"ann@example.com"}`)},
		siding.NewMessage{ID: "evt-2", Body: []byte(`{"to":""}`)},
	)
	if err != nil {
		panic(err)
	}

	w, err := worker.New(store, worker.Config{
		Queue: "reminders",
		Drain: true,
		Handler: siding.HandlerFunc(func(ctx context.Context, d *siding.Delivery) error {
			if string(d.Body) == `{"to":""}` {
				return siding.Permanent(errors.New("nobody to send it to"))
			}
			return nil
		}),
	})
	if err != nil {
		panic(err)
	}
	if err := w.Run(ctx); err != nil {
		panic(err)
	}
	for _, id := range []string{"evt-1", "evt-2"} {
		m, err := store.Get(ctx, "reminders", id)
		if err != nil {
			panic(err)
		}
		fmt.Println(m.ID, m.State, "after", m.Attempt, "failures")
	}
	// Output:
	// evt-1 done after 0 failures
	// evt-2 dead after 1 failures
}

// Stop gracefully at the first SIGINT or SIGTERM, at once at the second.
func ExampleSignals() {
	store := memory.Open(memory.Options{})
	defer store.Close()
	w, err := worker.New(store, worker.Config{
		Queue:   "reminders",
		Grace:   10 * time.Second,
		Handler: siding.HandlerFunc(func(context.Context, *siding.Delivery) error { return nil }),
	})
	if err != nil {
		panic(err)
	}

	ctx, release := worker.Signals(context.Background())
	defer release()
	time.AfterFunc(10*time.Millisecond, w.Stop) // for the sake of the example; elsewhere a signal does it
	fmt.Println(w.Run(ctx))
	// Output: <nil>
}

// tenAtOnce sends up to ten messages in one request.
type tenAtOnce struct{}

func (tenAtOnce) HandleBatch(_ context.Context, batch []*siding.BatchItem) error {
	for _, item := range batch {
		switch string(item.Body) {
		case "bad":
			item.Fail(siding.Permanent(errors.New("refused")))
		default:
			item.Done(siding.Result{})
		}
	}
	return nil // an error would be that of the items which are not settled
}

// A batch handler settles each message on its own.
func ExampleConfig_batchHandler() {
	ctx := context.Background()
	store := memory.Open(memory.Options{})
	defer store.Close()
	for i, body := range []string{"good", "bad", "good"} {
		id := fmt.Sprint("evt-", i)
		if _, err := store.Enqueue(ctx, "events", siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: []byte(body)}); err != nil {
			panic(err)
		}
	}
	w, err := worker.New(store, worker.Config{Queue: "events", Drain: true, BatchHandler: tenAtOnce{}, BatchSize: 10, Concurrency: 1})
	if err != nil {
		panic(err)
	}
	if err := w.Run(ctx); err != nil {
		panic(err)
	}
	stats, err := store.Stats(ctx, "events")
	if err != nil {
		panic(err)
	}
	fmt.Println(stats[0].Done, "done,", stats[0].Dead, "set aside")
	// Output: 2 done, 1 set aside
}

// The observer sees every event; a progress line can be made of it.
func ExampleConfig_observe() {
	ctx := context.Background()
	store := memory.Open(memory.Options{})
	defer store.Close()
	if _, err := store.Enqueue(ctx, "jobs", siding.EnqueueOptions{}, siding.NewMessage{ID: "evt-1"}); err != nil {
		panic(err)
	}
	w, err := worker.New(store, worker.Config{
		Queue: "jobs",
		Drain: true,
		Handler: siding.HandlerFunc(func(context.Context, *siding.Delivery) error {
			return siding.Held(siding.ScopeAccount, errors.New("credit balance is too low"))
		}),
		Observe: func(e worker.Event) {
			switch e := e.(type) {
			case worker.Started:
				fmt.Println("started", e.Delivery.ID)
			case worker.Settled:
				fmt.Println(e.Delivery.ID, "is", e.Decision.State, "again, attempts:", e.Decision.Attempt)
			}
		},
	})
	if err != nil {
		panic(err)
	}
	if held, ok := errors.AsType[*worker.HeldError](w.Run(ctx)); ok {
		fmt.Println(held)
	}
	// Output:
	// started evt-1
	// evt-1 is ready again, attempts: 0
	// account held (configuration): credit balance is too low
}
