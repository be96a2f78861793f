// Command reminders sends reminders that are due, each once, whatever fails: run it twice, and nothing is sent twice.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
	"github.com/siding-dev/siding/worker"
)

const queue = "reminders"

type reminder struct{ To, Text string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, "reminders.db", os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string, out io.Writer) error {
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	defer store.Close()

	// The event ID says what is done once: a second message under a known ID changes nothing.
	for id, r := range map[string]reminder{
		"dentist-0412": {"ada@example.com", "Dentist on Monday at 9"},
		"library-2291": {"bob@example.com", "Three books are due on Friday"},
		"bins-week-15": {"carol", "Put the bins out tonight"},
	} {
		body, _ := json.Marshal(r)
		if _, err := store.Enqueue(ctx, queue, siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: body}); err != nil {
			return err
		}
	}

	policy := siding.DefaultPolicy()
	policy.Backoff.Base = 100 * time.Millisecond
	w, err := worker.New(store, worker.Config{Queue: queue, Handler: mailer{out}, Policy: policy, Concurrency: 1, Drain: true})
	if err != nil {
		return err
	}
	if err := w.Run(ctx); err != nil {
		return err
	}

	for m, err := range store.List(ctx, siding.Selection{Queue: queue, States: []siding.State{siding.StateDead}}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "set aside: %s, %s after %d failed: %s\n", m.ID, m.Reason, m.Attempt, m.LastError.Text)
	}
	return nil
}

// mailer is the handler. The mail server in it is always busy when it is first asked about a book.
type mailer struct{ out io.Writer }

func (m mailer) Handle(_ context.Context, d *siding.Delivery) (siding.Result, error) {
	var r reminder
	if err := json.Unmarshal(d.Body, &r); err != nil {
		return siding.Result{}, siding.Permanent(err)
	}
	switch {
	case !strings.Contains(r.To, "@"):
		return siding.Result{}, siding.Permanent(fmt.Errorf("%q is no address", r.To))
	case strings.Contains(r.Text, "books") && d.Attempt == 0:
		fmt.Fprintf(m.out, "busy: %s will be tried again\n", d.ID)
		return siding.Result{}, siding.Transient(fmt.Errorf("450 mailbox busy"))
	}
	fmt.Fprintf(m.out, "sent: %s to %s\n", d.ID, r.To)
	return siding.Result{}, nil
}
