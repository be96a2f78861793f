package claudesim_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding/claudesim"
)

func status(t *testing.T, e exchange) int {
	t.Helper()
	require.NoError(t, e.err)
	return e.status
}

func TestRulesTakeTheCallsThatTheyDescribe(t *testing.T) {
	const fail = "do: {fault: error, id: \"500\"}"
	texts := []string{"alpha", "beta", "gamma", "beta", "alpha", "alpha"}
	for _, c := range []struct {
		when string
		want []int // which of the texts fail, from 1
	}{
		{`{}`, []int{1, 2, 3, 4, 5, 6}},
		{`{text: alp}`, []int{1, 5, 6}},
		{`{text: Alp}`, nil},
		{`{pattern: "^(?i)BETA\\s*$"}`, []int{2, 4}},
		{`{calls: 2}`, []int{2}},
		{`{calls: 2-4}`, []int{2, 3, 4}},
		{`{calls: 5-}`, []int{5, 6}},
		{`{text: alpha, calls: 2}`, []int{5}},
		{`{every: 3}`, []int{3, 6}},
		{`{times: 2}`, []int{1, 2}},
		{`{attempts: 1}`, []int{1, 2, 3}},
		{`{attempts: 2-}`, []int{4, 5, 6}},
		{`{share: 0}`, nil},
		{`{share: 1}`, []int{1, 2, 3, 4, 5, 6}},
		{`{model: claude-opus-5}`, nil},
		{`{model: claude-haiku-4-5}`, []int{1, 2, 3, 4, 5, 6}},
		{`{key: other}`, nil},
		{`{key: test-key, header: {x-batch: seven}}`, []int{1, 2, 3, 4, 5, 6}},
		{`{header: {x-batch: eight}}`, nil},
		{`{stream: true}`, nil},
		{`{path: models}`, nil},
		{`{from: 1h}`, nil},
		{`{until: 1h}`, []int{1, 2, 3, 4, 5, 6}},
		{`{until: 1h, since: first_call}`, []int{1, 2, 3, 4, 5, 6}},
	} {
		t.Run(c.when, func(t *testing.T) {
			w := inProcess(t, "faults: [{when: "+c.when+", "+fail+"}]")
			var got []int
			for i, text := range texts {
				if status(t, do(w.client, "POST", w.url+"/v1/messages", ask(text), map[string]string{"x-batch": "seven"})) == 500 {
					got = append(got, i+1)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestTheFirstRuleThatAppliesDecides(t *testing.T) {
	w := inProcess(t, `
faults:
  - {name: one, when: {text: alpha}, do: {fault: error, id: "529"}}
  - {name: two, do: {fault: error, id: "500"}}
`)
	require.Equal(t, 529, status(t, w.post(ask("alpha"))))
	require.Equal(t, 500, status(t, w.post(ask("beta"))))
	require.Equal(t, map[string]int64{"one": 1, "two": 1}, w.server.Meter().Faults)
}

func TestWindowsFollowTheClock(t *testing.T) {
	clock := &manual{now: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	s, err := claudesim.New(parse(t, `
faults:
  - {when: {from: 10s, until: 20s}, do: {fault: error, id: "529"}}
  - {when: {from: 1s, until: 2s, since: first_call}, do: {fault: error, id: "500"}}
`), claudesim.Options{Clock: clock.Now})
	require.NoError(t, err)
	w := way{server: s, client: s.Client(), url: "http://claude.test"}
	var got []int
	clock.advance(3 * time.Second)
	for range 20 {
		got = append(got, status(t, w.post(ask("x"))))
		clock.advance(time.Second)
	}
	for i, code := range got {
		want := 200
		if i == 1 {
			want = 500
		}
		if at := i + 3; at >= 10 && at < 20 {
			want = 529
		}
		require.Equal(t, want, code, "second %d", i)
	}
}

type manual struct {
	mu  sync.Mutex
	now time.Time
}

func (m *manual) Now() time.Time { m.mu.Lock(); defer m.mu.Unlock(); return m.now }

func (m *manual) advance(d time.Duration) { m.mu.Lock(); defer m.mu.Unlock(); m.now = m.now.Add(d) }

// Which calls fail, and how, is the same in whatever order and however concurrently they arrive.
func TestRandomFaultsDoNotDependOnTheOrderOfArrival(t *testing.T) {
	const profile = `
faults:
  - {name: a, when: {share: 0.2}, do: {fault: error, id: "529"}}
  - {name: b, when: {share: 0.2}, do: {fault: error, id: "500"}}
  - {name: c, when: {share: 0.3, attempts: 2}, do: {fault: off-schema}}
`
	run := func(seed uint64, order []string, workers int) map[string]string {
		s, err := claudesim.New(func() *claudesim.Profile { p := parse(t, profile); p.Seed = seed; return p }(), claudesim.Options{})
		require.NoError(t, err)
		queue := make(chan string, len(order))
		for _, body := range order {
			queue <- body
		}
		close(queue)
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for body := range queue {
					do(s.Client(), "POST", "http://claude.test/v1/messages", body, nil)
				}
			})
		}
		all.Wait()
		out := map[string]string{}
		for _, c := range s.Calls() {
			out[fmt.Sprint(c.Hash, "/", c.Ordinal)] = fmt.Sprint(c.Status, c.Fault, c.Usage)
		}
		return out
	}
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		var bodies []string
		for i := range rapid.IntRange(1, 8).Draw(rt, "requests") {
			for range rapid.IntRange(1, 3).Draw(rt, "times") {
				bodies = append(bodies, askFor(fmt.Sprint("record ", i), 300, asSchema))
			}
		}
		first := run(seed, bodies, 1)
		dice := rand.New(rand.NewPCG(seed, 1))
		dice.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })
		if second := run(seed, bodies, 4); fmt.Sprint(second) != fmt.Sprint(first) {
			rt.Fatalf("another order gave other faults:\n%v\n%v", first, second)
		}
	})
}

// Shares are what they say, over many requests.
func TestSharesAreMet(t *testing.T) {
	w := inProcess(t, "seed: 5\nfaults: [{name: f, when: {share: 0.1}, do: {fault: error, id: '500'}}]")
	for i := range 1500 {
		w.post(ask(fmt.Sprint("record ", i)))
	}
	require.InDelta(t, 150, w.server.Meter().Faults["f"], 45)
}

func TestAProfileCanBeChangedWhileTheServerRuns(t *testing.T) {
	w := inProcess(t, "faults: [{do: {fault: error, id: credit}}]")
	require.Equal(t, 400, status(t, w.post(ask("x"))))
	require.NoError(t, w.server.SetProfile(parse(t, "")))
	require.Equal(t, 200, status(t, w.post(ask("x"))))
	require.Error(t, w.server.SetProfile(&claudesim.Profile{Faults: []claudesim.Rule{{Do: claudesim.Do{Fault: "nonsense"}}}}))
	require.Equal(t, 200, status(t, w.post(ask("x"))), "a bad profile changes nothing")
	require.Equal(t, int64(3), w.server.Meter().Totals.Calls, "the meter goes on")
}
