package claudesim_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding/claudesim"
)

// The meter is the sum of what the answers reported, plus what was charged for answers that got lost.
func TestTheMeterIsTheSumOfTheUsages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := parse(t, `
faults:
  - {name: lost, when: {share: 0.15}, do: {fault: cut, at: after}}
  - {name: cut, when: {share: 0.15}, do: {fault: cut, at: before}}
  - {name: busy, when: {share: 0.15}, do: {fault: error, id: "529"}}
  - {name: refused, when: {share: 0.15}, do: {fault: stop, reason: refusal}}
`)
		p.Seed = rapid.Uint64().Draw(rt, "seed")
		s, err := claudesim.New(p, claudesim.Options{})
		require.NoError(rt, err)
		var mu sync.Mutex
		var input, output, lost int64
		var all sync.WaitGroup
		records := rapid.SliceOfN(rapid.IntRange(0, 8), 1, 40).Draw(rt, "records")
		for _, n := range records {
			all.Go(func() {
				got := do(s.Client(), "POST", "http://claude.test/v1/messages", askFor(fmt.Sprint("record ", n), 300, asSchema), nil)
				mu.Lock()
				defer mu.Unlock()
				if got.err != nil {
					lost++
				} else if got.status == 200 {
					m := got.message(t)
					input, output = input+m.Usage.Input, output+m.Usage.Output
				}
			})
		}
		all.Wait()
		m := s.Meter()
		var billedCalls, lostInput, lostOutput int64
		for _, c := range s.Calls() {
			if c.Billed {
				billedCalls++
			}
			if c.Billed && !c.Complete {
				lostInput, lostOutput = lostInput+c.Usage.Input, lostOutput+c.Usage.Output
			}
		}
		if m.Totals.Usage.Input != input+lostInput || m.Totals.Usage.Output != output+lostOutput {
			rt.Fatalf("meter %+v, answers %d/%d, lost %d/%d", m.Totals.Usage, input, output, lostInput, lostOutput)
		}
		// One USD per million tokens in, five out.
		if want := m.Totals.Usage.Input*1_000_000 + m.Totals.Usage.Output*5_000_000; m.Totals.CostPico != want {
			rt.Fatalf("cost %d, want %d", m.Totals.CostPico, want)
		}
		if m.Totals.Calls != int64(len(records)) || m.Totals.Billed != billedCalls || m.Faults["lost"]+m.Faults["cut"] != lost {
			rt.Fatalf("counts %+v, %d records, %d lost", m, len(records), lost)
		}
	})
}

func TestEventsWithEqualBytesAreToldApart(t *testing.T) {
	w := inProcess(t, "")
	body := ask("twice the same")
	for _, event := range []string{"a", "b", "b"} {
		do(w.client, "POST", w.url+"/v1/messages", body, map[string]string{claudesim.EventHeader: event})
	}
	sum := sha256.Sum256([]byte(body))
	hash := hex.EncodeToString(sum[:])
	m := w.server.Meter()
	require.Len(t, m.Rows, 2)
	require.Equal(t, hash, m.Rows[0].Hash)
	require.Equal(t, "a", m.Rows[0].Event)
	require.Zero(t, m.Rows[0].PaidAgain)
	require.Equal(t, int64(1), m.Rows[1].PaidAgain)
	require.Equal(t, int64(3), m.ByHash(hash).Billed)
	require.Equal(t, int64(3), m.Totals.Acceptable)
}

func TestModelsWithoutAPriceAreUnpricedAndNotFree(t *testing.T) {
	w := inProcess(t, "")
	w.post(strings.Replace(ask("x"), "haiku-4-5", "mythos-5-2", 1))
	require.Equal(t, int64(1), w.server.Meter().Totals.Unpriced)
	require.Zero(t, w.server.Meter().Totals.CostPico)
}

func TestPricesFollowTheirDateTheirBandAndThePlaceOfInference(t *testing.T) {
	clock := &manual{now: time.Date(2026, 10, 6, 23, 0, 0, 0, time.UTC)}
	s, err := claudesim.New(nil, claudesim.Options{Clock: clock.Now})
	require.NoError(t, err)
	last := func(body string) claudesim.Call {
		got := do(s.Client(), "POST", "http://claude.test/v1/messages", body, nil)
		require.Equal(t, 200, got.status, got.body)
		calls := s.Calls()
		return calls[len(calls)-1]
	}
	system := `,"system":[{"type":"text","text":"` + strings.Repeat("rules ", 2000) + `","cache_control":{"type":"ephemeral"}}]`
	body := strings.Replace(askFor("x", 50, system), "haiku-4-5", "sonnet-5-5", 1)
	first := last(body)
	require.Positive(t, first.Usage.CacheWrite5m)
	require.Equal(t, first.Usage.Input*2_000_000+first.Usage.CacheWrite5m*2_500_000+first.Usage.Output*10_000_000, first.CostPico)
	second := last(body)
	require.Equal(t, first.Usage.CacheWrite5m, second.Usage.CacheRead)
	require.Equal(t, second.Usage.Input*2_000_000+second.Usage.CacheRead*200_000+second.Usage.Output*10_000_000, second.CostPico)
	clock.advance(2 * time.Hour) // another day, and the cache has forgotten
	require.Positive(t, last(body).Usage.CacheWrite5m)
	cheaper := last(body)
	require.Equal(t, cheaper.Usage.Input*2_000_000+cheaper.Usage.CacheRead*100_000+cheaper.Usage.Output*10_000_000, cheaper.CostPico)

	short := last(strings.Replace(askFor("x", 50, `,"inference_geo":"us"`), "haiku-4-5", "haiku-5-5", 1))
	require.Equal(t, short.Usage.Input*110_000+short.Usage.Output*550_000, short.CostPico)
	long := last(strings.Replace(askFor(strings.Repeat("word ", 80_000), 50, ""), "haiku-4-5", "haiku-5-5", 1))
	require.Greater(t, long.Usage.Input, int64(100_000))
	require.Equal(t, long.Usage.Input*500_000+long.Usage.Output*2_500_000, long.CostPico)
}

func TestAMeterFileIsCountedOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "meter.jsonl")
	empty, err := claudesim.ReadMeter(file)
	require.NoError(t, err)
	require.Zero(t, empty.Totals.Calls)
	var before claudesim.Meter
	for run := range 3 {
		s, err := claudesim.New(parse(t, `
faults:
  - {when: {attempts: 1}, do: {fault: error, id: "500"}}
  - {when: {attempts: 2}, do: {fault: cut, at: after}}
`), claudesim.Options{MeterFile: file})
		require.NoError(t, err)
		require.Equal(t, before.Totals, s.Meter().Totals, "run %d", run)
		got := do(s.Client(), "POST", "http://claude.test/v1/messages", ask("a harbor"), nil)
		require.Equal(t, run == 2, got.status == 200, "how often a request came is counted on too")
		before = s.Meter()
		require.NoError(t, s.Close())
		read, err := claudesim.ReadMeter(file)
		require.NoError(t, err)
		require.Equal(t, before.Totals, read.Totals)
		require.Equal(t, before.Faults, read.Faults)
	}
	require.Equal(t, int64(2), before.Totals.Billed)

	// A process that died while it wrote, after it had charged.
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(data), "\n"), "\n")
	killed := strings.Join(lines[:len(lines)-1], "") + lines[len(lines)-1][:20]
	require.NoError(t, os.WriteFile(file, []byte(killed), 0o600))
	s, err := claudesim.New(nil, claudesim.Options{MeterFile: file})
	require.NoError(t, err)
	require.Equal(t, int64(2), s.Meter().Totals.Billed, "what was charged stays charged")
	require.Zero(t, s.Meter().Totals.Acceptable, "what was not seen to be delivered is not counted as delivered")
	do(s.Client(), "POST", "http://claude.test/v1/messages", ask("another"), nil)
	s.Reset()
	do(s.Client(), "POST", "http://claude.test/v1/messages", ask("another"), nil)
	want := s.Meter().Totals
	require.NoError(t, s.Close())
	read, err := claudesim.ReadMeter(file)
	require.NoError(t, err)
	require.Equal(t, want, read.Totals)
	require.Equal(t, int64(1), read.Totals.Calls)
}

func TestAMeterFileThatCannotBeOpenedIsAnError(t *testing.T) {
	_, err := claudesim.New(nil, claudesim.Options{MeterFile: filepath.Join(t.TempDir(), "no", "such", "folder")})
	require.ErrorContains(t, err, "simulator meter")
}

func TestNothingIsAppendedToAFileThatIsNoMeter(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"an input":          "{\"id\":\"a\",\"title\":\"t\"}\n",
		"one line":          `{"id":"a"}`,
		"another type":      "{\"type\":\"result\",\"v\":1}\n",
		"a letter":          "Dear all\n",
		"bytes":             "\x00\xff\x00",
		"a null":            "null\n",
		"a simulated store": "SQLite format 3\x00",
	} {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := claudesim.New(nil, claudesim.Options{MeterFile: file})
		require.ErrorContains(t, err, "no meter file", name)
		require.ErrorContains(t, err, file)
		_, err = claudesim.ReadMeter(file)
		require.ErrorContains(t, err, "no meter file", name)
		got, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(got), name)
	}
	for _, cut := range []string{"", "{\"ty", "{\"type\":\"billed\",\"n\":"} {
		file := filepath.Join(dir, "cut")
		require.NoError(t, os.WriteFile(file, []byte(cut), 0o600))
		for range 3 {
			s, err := claudesim.New(nil, claudesim.Options{MeterFile: file})
			require.NoError(t, err, "a meter whose first line was cut: %q", cut)
			require.NoError(t, s.Close())
		}
	}
}
