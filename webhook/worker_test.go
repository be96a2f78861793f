package webhook

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
	"github.com/siding-dev/siding/worker"
)

// With a worker and a journal: what the receiver has said yes to is sent once, whatever else fails, and what it refuses
// is set aside alone.
func TestAQueueIsDelivered(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	tries := map[string]int{}
	r := serve(t, func(w http.ResponseWriter, req *http.Request) {
		id := req.Header.Get("Idempotency-Key")
		mu.Lock()
		tries[id]++
		n := tries[id]
		mu.Unlock()
		switch {
		case id == "evt-7":
			says(422, "no such order")(w, req)
		case n == 1:
			panic(http.ErrAbortHandler)
		default:
			says(200, `{"try": `+fmt.Sprint(n)+`}`)(w, req)
		}
	})
	s := memory.Open(memory.Options{})
	defer s.Close()
	var list []siding.NewMessage
	for i := range 20 {
		list = append(list, siding.NewMessage{ID: fmt.Sprintf("evt-%d", i), Body: []byte(body)})
	}
	_, err := s.Enqueue(t.Context(), "hooks", siding.EnqueueOptions{}, list...)
	require.NoError(t, err)
	c := to(r)
	c.Journal = s
	h := newHandler(t, c)
	policy := siding.DefaultPolicy()
	policy.Backoff = siding.Backoff{Base: time.Millisecond, Factor: 1, Cap: time.Millisecond}
	w, err := worker.New(s, worker.Config{Queue: "hooks", Handler: h, Policy: policy, Drain: true, Digest: h.Digest()})
	require.NoError(t, err)
	require.NoError(t, w.Run(t.Context()))

	for i := range 20 {
		id := fmt.Sprintf("evt-%d", i)
		rec, err := s.Get(t.Context(), "hooks", id)
		require.NoError(t, err)
		calls, err := s.Calls(t.Context(), "hooks", id)
		require.NoError(t, err)
		if id == "evt-7" {
			require.Equal(t, siding.StateDead, rec.State)
			require.Equal(t, siding.CauseInvalidRequest, rec.LastError.Cause)
			require.Equal(t, 1, tries[id])
			continue
		}
		require.Equal(t, siding.StateDone, rec.State)
		require.Equal(t, `{"try":2}`, string(rec.Result))
		require.Equal(t, 2, tries[id])
		require.Len(t, calls, 2)
		require.Equal(t, []siding.Fate{siding.FateUnknown, siding.FateAnswered}, []siding.Fate{calls[0].Fate, calls[1].Fate})
		require.Equal(t, siding.VerdictAccepted, calls[1].Verdict)
	}
}
