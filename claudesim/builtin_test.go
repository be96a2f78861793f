package claudesim_test

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// work sends records with a number of workers, each retried until it is answered or out of tries, in virtual time.
// It returns how many were never answered, and how long it took.
func work(t *testing.T, s *claudesim.Server, records, workers, tries int) (lost int64, took time.Duration) {
	t.Helper()
	client := &http.Client{Transport: s.Transport(), Timeout: time.Minute}
	queue := make(chan int, records)
	for i := range records {
		queue <- i
	}
	close(queue)
	var missing atomic.Int64
	var all sync.WaitGroup
	begun := time.Now()
	for range workers {
		all.Go(func() {
			for i := range queue {
				answered := false
				for try := range tries {
					got := do(client, "POST", "http://claude.test/v1/messages", askFor(fmt.Sprint("record ", i), 300, asSchema), nil)
					if got.err == nil && got.status == 200 {
						answered = true
						break
					}
					wait := time.Second << min(try, 4)
					if after, err := strconv.Atoi(got.header.Get("retry-after")); err == nil {
						wait = time.Duration(after) * time.Second
					}
					time.Sleep(wait)
				}
				if !answered {
					missing.Add(1)
				}
			}
		})
	}
	all.Wait()
	return missing.Load(), time.Since(begun)
}

func builtinServer(t *testing.T, name string) *claudesim.Server {
	t.Helper()
	p, err := claudesim.BuiltinProfile(name)
	require.NoError(t, err)
	s, err := claudesim.New(p, claudesim.Options{})
	require.NoError(t, err)
	return s
}

func TestTheRoughProfileLosesNoRequestThatIsTriedThreeTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := builtinServer(t, "rough")
		lost, took := work(t, s, 800, 8, 3)
		require.Zero(t, lost)
		require.Less(t, took, 30*time.Second)
		for _, r := range s.Profile().Faults {
			require.Positive(t, s.Meter().Faults[r.Name], "800 records do not meet %s", r.Name)
		}
	})
}

func TestTheOtherProfilesDoWhatTheySay(t *testing.T) {
	for name, check := range map[string]func(t *testing.T, lost int64, took time.Duration, m claudesim.Meter){
		"clean": func(t *testing.T, lost int64, _ time.Duration, m claudesim.Meter) {
			require.Zero(t, lost)
			require.Equal(t, int64(300), m.Totals.Calls)
		},
		"outage": func(t *testing.T, lost int64, took time.Duration, m claudesim.Meter) {
			require.Zero(t, lost)
			require.Greater(t, took, 10*time.Second)
			require.Positive(t, m.Faults["down"])
			require.Positive(t, m.Faults["coming-back"])
		},
		"brownout": func(t *testing.T, lost int64, _ time.Duration, m claudesim.Meter) {
			require.Zero(t, lost)
			require.Greater(t, m.Totals.Calls, int64(375))
		},
		"ratelimited": func(t *testing.T, lost int64, took time.Duration, m claudesim.Meter) {
			require.Zero(t, lost)
			require.GreaterOrEqual(t, took, 14*time.Second, "300 requests at 20 a second")
			require.Positive(t, m.Totals.Throttled)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := builtinServer(t, name)
				lost, took := work(t, s, 300, 8, 20)
				check(t, lost, took, s.Meter())
				require.Zero(t, s.Meter().Totals.PaidAgain)
			})
		})
	}
}

func BenchmarkCallInProcess(b *testing.B) {
	s, err := claudesim.New(nil, claudesim.Options{})
	require.NoError(b, err)
	client := s.Client()
	for i := 0; b.Loop(); i++ {
		if got := do(client, "POST", "http://claude.test/v1/messages", askFor(fmt.Sprint("record ", i), 300, asSchema), nil); got.status != 200 {
			b.Fatal(got)
		}
	}
}
