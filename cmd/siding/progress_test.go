package main

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/worker"
)

func TestProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProgress(siding.InputStats{Enqueued: 100, Done: 10, Pending: 90})
		require.Equal(t, "10 done, 0 set aside, 90 waiting, $0.0000", p.text())
		time.Sleep(10 * time.Second)
		for range 20 {
			p.observe(worker.Settled{Decision: siding.Decision{State: siding.StateDone}})
		}
		p.observe(worker.Settled{Decision: siding.Decision{State: siding.StateDead}})
		p.observe(worker.Settled{Decision: siding.Decision{State: siding.StateReady}})
		require.Equal(t, "30 done, 1 set aside, 69 waiting, 2.1/s, $0.0000, 32s left", p.text())

		done, dead := p.mark()
		p.observe(worker.Settled{Decision: siding.Decision{State: siding.StateDone}})
		p.refresh(siding.InputStats{Enqueued: 100, Done: 30, Dead: 1, Cost: siding.USD / 2}, done, dead)
		require.Equal(t, "31 done, 1 set aside, 68 waiting, 2.2/s, $0.5000, 30s left", p.text())

		p.observe(worker.Throttled{For: 90 * time.Second, Failure: &siding.Failure{Cause: siding.CauseRateLimited}})
		require.Contains(t, p.text(), "resting 1m30s (rate-limited)")
		p.observe(worker.Resumed{})
		require.NotContains(t, p.text(), "resting")
		until := time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)
		p.observe(worker.Held{Err: &worker.HeldError{Holds: []siding.Gate{
			{Key: siding.GateKey{Scope: siding.ScopeAccount, Name: "claude/1"}, Hold: &siding.Hold{Kind: siding.HoldFault, Cause: siding.CauseAccount, Until: until}},
			{Key: siding.GateKey{Scope: siding.ScopeLane, Name: "claude/m@1"}, Hold: &siding.Hold{Kind: siding.HoldOutage, Cause: siding.CauseServerError}},
		}}})
		require.Contains(t, p.text(), ", held: account (account) until 2026-12-24T00:00:00Z, lane (outage)")
		p.observe(worker.Throttled{For: 90 * time.Second})
		require.Contains(t, p.text(), "resting 1m30s (throttled)")
		require.NotContains(t, p.text(), "held")
		p.observe(worker.Resumed{})
		require.NotContains(t, p.text(), "resting")
		p.observe(worker.Throttled{For: 5 * time.Second, Failure: &siding.Failure{
			Cause: siding.CauseHandlerError, Err: fmt.Errorf("the journal: %w", siding.ErrDiskFull),
		}})
		require.Contains(t, p.text(), "resting 5s (handler-error: the journal: no room left on the disk)", "what can be mended here is said")
		p.observe(worker.Resumed{})
		p.observe(worker.StoreFault{Err: errors.New("no room \x1b[2J")})
		require.Contains(t, p.text(), `the store: no room \x1b[2J`)
		p.observe(worker.Settled{Decision: siding.Decision{State: siding.StateReady}})
		require.NotContains(t, p.text(), "the store")
		ended, all := p.counts()
		require.EqualValues(t, 32, ended)
		require.EqualValues(t, 100, all)
	})
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "1s", 59 * time.Second: "59s", 61 * time.Second: "1m01s", 90 * time.Minute: "1h30m", 72 * time.Hour: "3 days",
		1 << 62: "months",
	} {
		require.Equal(t, want, spanText(d))
	}
}

func TestWordsOfACommandAreQuoted(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"siding.db": "siding.db", "a b": "'a b'", "": "''", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "a\nb": "'a\nb'",
	} {
		require.Equal(t, want, shellQuote(word))
	}
}

func TestStorePath(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	path := func(url, env, dir string, simulated bool) string {
		a := *p.app
		a.storeURL, a.env = url, map[string]string{"SIDING_STORE": env}
		got, err := a.storePath(dir, simulated)
		if err != nil {
			require.Equal(t, exitUsage, exitCode(err))
			return "wrong"
		}
		return got
	}
	require.Equal(t, "siding.db", path("", "", "", false))
	require.Equal(t, "siding-sim.db", path("", "", "", true))
	require.Equal(t, "dir/siding.db", path("", "", "dir", false))
	require.Equal(t, "env.db", path("", "env.db", "dir", false))
	require.Equal(t, "flag.db", path("flag.db", "env.db", "dir", true))
	require.Equal(t, "sqlite:/x/y.db", path("sqlite:/x/y.db", "", "", false))
	require.Equal(t, "postgres://h/d", path("postgres://h/d", "", "", true))
	for _, url := range []string{"nats://h", "sqlite:", "sqlite:///", "http://x"} {
		require.Equal(t, "wrong", path(url, "", "", false), url)
	}
}
