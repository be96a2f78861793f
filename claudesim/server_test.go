package claudesim_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// A deafWriter takes the headers, and loses what is written after them.
type deafWriter struct{ *httptest.ResponseRecorder }

func (deafWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestAnAnswerThatCouldNotBeWrittenWasNotDelivered(t *testing.T) {
	s, err := claudesim.New(nil, claudesim.Options{})
	require.NoError(t, err)
	send := func(w http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(ask("a harbor")))
		r.Header.Set("x-api-key", "k")
		r.Header.Set("anthropic-version", "2026-10-21")
		s.ServeHTTP(w, r)
	}
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { send(deafWriter{httptest.NewRecorder()}) })
	m := s.Meter()
	require.Equal(t, int64(1), m.Totals.Billed)
	require.Zero(t, m.Totals.Acceptable)
	require.False(t, s.Calls()[0].Complete)
	send(httptest.NewRecorder())
	m = s.Meter()
	require.Equal(t, int64(1), m.Totals.Acceptable)
	require.Zero(t, m.Totals.PaidAgain, "the first answer never arrived")
	send(httptest.NewRecorder())
	require.Equal(t, int64(1), s.Meter().Totals.PaidAgain)
}

func TestTheLogKeepsTheLastCalls(t *testing.T) {
	s, err := claudesim.New(nil, claudesim.Options{KeepCalls: 10})
	require.NoError(t, err)
	w := way{server: s, client: s.Client(), url: "http://claude.test"}
	for i := range 37 {
		w.post(ask(fmt.Sprint("record ", i)))
	}
	calls := s.Calls()
	require.Len(t, calls, 10)
	require.Equal(t, int64(28), calls[0].N)
	require.Equal(t, int64(37), calls[9].N)
	require.Equal(t, int64(37), s.Meter().Totals.Calls, "the meter counts them all")
}

func TestResetBeginsAnew(t *testing.T) {
	w := inProcess(t, "faults: [{when: {attempts: 1}, do: {fault: error, id: \"500\"}}, {when: {calls: 2}, do: {fault: error, id: \"529\"}}]")
	for range 2 {
		require.Equal(t, 500, status(t, w.post(ask("x"))))
		require.Equal(t, 529, status(t, w.post(ask("x"))))
		require.Equal(t, 200, status(t, w.post(ask("x"))))
		w.server.Reset()
		require.Zero(t, w.server.Meter().Totals.Calls)
		require.Empty(t, w.server.Calls())
	}
}

func TestEverythingMayHappenAtOnce(t *testing.T) {
	w := ways(t, "latency: {jitter: 1ms}")[0]
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 10 {
				switch {
				case i == 0:
					_ = w.server.SetProfile(&claudesim.Profile{Seed: uint64(n)})
				case i == 1:
					w.server.Meter()
					w.server.Calls()
				default:
					w.post(askFor(fmt.Sprint("record ", n), 200, asSchema))
				}
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(60), w.server.Meter().Totals.Acceptable)
}
