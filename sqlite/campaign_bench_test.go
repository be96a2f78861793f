package sqlite_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/sqlite"
)

// BenchmarkCampaign selects a million dead letters in 2,000 groups and sends all of them back as they are.
func BenchmarkCampaign(b *testing.B) {
	const total, groups = 1_000_000, 2_000
	s := open(b, sqlite.Options{})
	fillDead(b, s, total, groups)
	b.ResetTimer()
	for range b.N {
		began := time.Now()
		c, err := s.CreateCampaign(b.Context(), siding.CampaignPlan{})
		require.NoError(b, err)
		for e := (siding.Enlistment{More: true}); e.More; {
			e, err = s.Enlist(b.Context(), c.ID, e.Next, 2000)
			require.NoError(b, err)
		}
		selected := time.Now()
		require.NoError(b, s.StartCampaign(b.Context(), c.ID))
		for sent := int64(0); sent < total; {
			n, err := s.ReturnNext(b.Context(), c.ID, 2000)
			require.NoError(b, err)
			require.NotZero(b, n)
			sent += n
		}
		ended := time.Now()
		b.ReportMetric(total/selected.Sub(began).Seconds(), "selected/s")
		b.ReportMetric(total/ended.Sub(selected).Seconds(), "sent/s")
		b.ReportMetric(total/ended.Sub(began).Seconds(), "together/s")
		b.StopTimer()
		if b.N > 1 {
			b.Fatal("what was sent back cannot be sent again; use -benchtime 1x")
		}
	}
}

// fillDead enqueues messages that are set aside at once, into groups in turn.
func fillDead(t testing.TB, s *sqlite.Store, total, groups int) {
	t.Helper()
	body := make([]byte, 256)
	failures := make([]*siding.Failure, groups)
	for i := range failures {
		failures[i] = &siding.Failure{
			Outcome: siding.OutcomePermanent, Cause: siding.CauseInvalidRequest, Err: errors.New("fault " + word(i)),
		}
	}
	batch := make([]siding.NewMessage, 1000)
	for n := 0; n < total; n += len(batch) {
		for i := range batch {
			batch[i] = siding.NewMessage{ID: fmt.Sprint("m-", n+i), Body: body, Dead: failures[(n+i)%groups]}
		}
		_, err := s.Enqueue(t.Context(), "q", siding.EnqueueOptions{}, batch...)
		require.NoError(t, err)
	}
}

// word gives a number as a word without digits, which a fingerprint keeps.
func word(n int) string {
	out := ""
	for range 4 {
		out += string(rune('a' + n%26))
		n /= 26
	}
	return out
}
