// Command reminders sends reminders that are due, each once, whatever fails: run it twice, and nothing is sent twice.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/siding-dev/siding/worker"
)

var errBusy = errors.New("450 mailbox busy")

func main() {
	if err := run(context.Background(), "reminders.db", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string, out io.Writer) (err error) {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()

	// The event ID says what is done once: a second message under a known ID changes nothing.
	_, err = store.Enqueue(ctx, "reminders", siding.EnqueueOptions{},
		siding.NewMessage{ID: "dentist-0412", Body: []byte("ada@example.com: dentist on Monday at 9")},
		siding.NewMessage{ID: "library-2291", Body: []byte("bob@example.com: three books are due on Friday")},
		siding.NewMessage{ID: "bins-week-15", Body: []byte("carol: put the bins out tonight")})
	if err != nil {
		return err
	}

	// The mail server in here knows no carol, and is always busy at first when it is about books.
	send := siding.HandlerFunc(func(_ context.Context, d *siding.Delivery) error {
		to, text, _ := strings.Cut(string(d.Body), ": ")
		switch {
		case !strings.Contains(to, "@"):
			return siding.Permanent(fmt.Errorf("%q is no address", to)) // set aside at once
		case strings.Contains(text, "books") && d.Attempt == 0:
			fmt.Fprintf(out, "busy: %s is tried again later\n", d.ID)
			return siding.Transient(errBusy)
		}
		fmt.Fprintf(out, "sent: %s to %s\n", d.ID, to)
		return nil
	})
	policy := siding.DefaultPolicy()
	policy.Backoff.Base = 100 * time.Millisecond
	w, err := worker.New(store, worker.Config{Queue: "reminders", Handler: send, Policy: policy, Concurrency: 1, Drain: true})
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}

	for m, err := range store.List(ctx, siding.Selection{States: []siding.State{siding.StateDead}}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "set aside: %s (%s) after %d failed: %s\n", m.ID, m.Reason, m.Attempt, m.LastError.Text)
	}
	return nil
}
