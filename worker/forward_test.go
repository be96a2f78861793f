package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

// tags forwards what is longer than 20 bytes to the queue of summaries, and does the rest.
func tags(c *calls) siding.Handler {
	return resultHandler(func(_ context.Context, d *siding.Delivery) (siding.Result, error) {
		c.add(d)
		if len(d.Body) > 20 {
			return siding.Result{NoCall: true}, siding.Forward("summaries", errors.New("it is too long"))
		}
		return siding.Result{Body: []byte(`"tag"`)}, nil
	})
}

// summaries takes ten seconds for each.
func summaries(c *calls) worker.Config {
	return worker.Config{
		Queue: "summaries", Then: &siding.Then{Queue: queue, Field: "/text"}, Concurrency: 1,
		Handler: resultHandler(func(_ context.Context, d *siding.Delivery) (siding.Result, error) {
			c.add(d)
			time.Sleep(10 * time.Second)
			return siding.Result{Body: []byte(`"short"`)}, nil
		}),
	}
}

func (f *fix) putLong(ids ...string) {
	f.Helper()
	for _, id := range ids {
		body, err := json.Marshal(map[string]string{"text": string(bytes.Repeat([]byte("long "), 20))})
		require.NoError(f, err)
		_, err = f.store.Enqueue(f.Context(), queue, siding.EnqueueOptions{}, siding.NewMessage{ID: id, Body: body})
		require.NoError(f, err)
	}
}

func TestADrainWaitsForTheResultsOfAnotherQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.putLong("a", "b")
		f.put("c")
		tagged, summarised := newCalls(), newCalls()
		other, err := worker.New(f.store.Another(), summaries(summarised))
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- other.Run(t.Context()) }()
		var waits []string
		f.drain(worker.Config{Handler: tags(tagged), Observe: func(e worker.Event) {
			if s, ok := e.(worker.Settled); ok && s.Decision.WaitsFor != "" {
				waits = append(waits, s.Delivery.ID+" for "+s.Decision.WaitsFor)
			}
		}})
		other.Stop()
		require.NoError(t, <-ended)
		require.EqualValues(t, 3, f.stats().Done)
		require.ElementsMatch(t, []string{"a for summaries", "b for summaries"}, waits)
		require.Len(t, summarised.all(), 2)
		require.Len(t, tagged.all(), 5)
		require.Equal(t, `{"text":"short"}`, string(f.get("a").Body))
		require.Less(t, time.Since(tagged.start), 20*time.Second+2*worker.DefaultPoll+time.Second,
			"what comes back is fetched soon, also from another process")
	})
}

func TestACopyWithoutAWayBackSetsTheMessageAside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.putLong("a")
		cfg := summaries(newCalls())
		cfg.Then = nil
		other, err := worker.New(f.store, cfg)
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- other.Run(t.Context()) }()
		f.drain(worker.Config{Handler: tags(newCalls())})
		other.Stop()
		require.NoError(t, <-ended)
		r := f.get("a")
		require.Equal(t, siding.StateDead, r.State)
		require.Contains(t, r.LastError.Text, "summaries")
	})
}

func TestWhatWaitsForAnotherQueueIsNotKeptByAHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := setup(t)
		f.putLong("a")
		key := siding.GateKey{Scope: siding.ScopeRecipe, Name: "tags"}
		w := f.worker(worker.Config{
			Handler: tags(newCalls()), Drain: true, Gates: siding.GateKeys{Recipe: key},
			Wait: func(siding.Hold) time.Duration { return 0 },
		})
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context()) }()
		time.Sleep(time.Minute)
		require.Equal(t, "summaries", f.get("a").WaitsFor)
		require.NoError(t, f.store.HoldGate(t.Context(), key, "for a look", "me"))
		time.Sleep(time.Minute)
		require.Empty(t, ended, "nothing is there that the hold could keep from being done")

		other, err := worker.New(f.store, summaries(newCalls()))
		require.NoError(t, err)
		gone := make(chan error, 1)
		go func() { gone <- other.Run(t.Context()) }()
		err = <-ended
		var held *worker.HeldError
		require.ErrorAs(t, err, &held)
		other.Stop()
		require.NoError(t, <-gone)
		require.Equal(t, 1, f.get("a").Returned)
	})
}

func TestWhereResultsGoBackToIsChecked(t *testing.T) {
	t.Parallel()
	f := setup(t)
	h := handler(func(context.Context, *siding.Delivery) error { return nil })
	for want, then := range map[string]siding.Then{
		"Then.Queue": {Queue: queue, Field: "/text"},
		"Then.Field": {Queue: "other", Field: "text"},
	} {
		_, err := worker.New(f.store, worker.Config{Queue: queue, Handler: h, Then: &then})
		require.ErrorContains(t, err, want)
	}
}
