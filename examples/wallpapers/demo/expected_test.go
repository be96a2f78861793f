package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// good is an outcome with which the demo succeeds.
func good(t *testing.T) (expected, outcome) {
	t.Helper()
	want, err := readExpected("../expected-summary.json")
	require.NoError(t, err)
	o := outcome{exit: 3, exitAgain: 3, sum: summary{
		Enqueued: 800, Done: 792, Dead: 8, Calls: 850, UnknownCalls: 2, CostUSD: "0.5", UnknownMaxUSD: "0.25",
	}}
	for cause, n := range want.Causes {
		o.sum.Causes = append(o.sum.Causes, struct {
			Cause string `json:"cause"`
			Count int64  `json:"count"`
		}{cause, n})
	}
	o.meter.Totals = claudesim.Row{Calls: 850, CostPico: 600_000_000_000}
	o.again = o.meter
	return want, o
}

func TestTheDemoSucceedsOnlyWhenAllIsAsItShouldBe(t *testing.T) {
	t.Parallel()
	want, o := good(t)
	require.NoError(t, want.check(o))
	require.Len(t, want.Causes, 8)

	for name, spoil := range map[string]func(*outcome){
		"the exit code is that of success":             func(o *outcome) { o.exit = 0 },
		"the second run ends with another code":        func(o *outcome) { o.exitAgain = 4 },
		"a record is missing":                          func(o *outcome) { o.sum.Enqueued, o.sum.Done = 799, 791 },
		"a healthy record is set aside":                func(o *outcome) { o.sum.Done, o.sum.Dead = 791, 9 },
		"a record is left to do":                       func(o *outcome) { o.sum.Pending = 1 },
		"a cause is another one":                       func(o *outcome) { o.sum.Causes[0].Cause = "unknown" },
		"a cause comes twice":                          func(o *outcome) { o.sum.Causes[0].Count = 2 },
		"the second run makes a call":                  func(o *outcome) { o.again.Totals.Calls++ },
		"the journal misses a call":                    func(o *outcome) { o.sum.Calls-- },
		"an answer is paid for twice":                  func(o *outcome) { o.meter.Totals.PaidAgain = 1 },
		"the bill is below what is reported":           func(o *outcome) { o.meter.Totals.CostPico = 499_999_999_999 },
		"the bill is above all that is reported":       func(o *outcome) { o.meter.Totals.CostPico = 750_000_000_001 },
		"something unknown is reported without a call": func(o *outcome) { o.sum.UnknownCalls = 0 },
		"the cost is no number":                        func(o *outcome) { o.sum.CostUSD = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, o := good(t)
			spoil(&o)
			require.Error(t, want.check(o))
		})
	}
}

func TestTheBoundsOfTheBillAreExact(t *testing.T) {
	t.Parallel()
	s := summary{UnknownCalls: 1, CostUSD: "0.123456789012", UnknownMaxUSD: "0.000000000001"}
	require.NoError(t, s.checkBill(123_456_789_012))
	require.NoError(t, s.checkBill(123_456_789_013))
	require.Error(t, s.checkBill(123_456_789_011))
	require.Error(t, s.checkBill(123_456_789_014))
	require.Equal(t, "$0.123457", dollars(json.Number("0.123456789012")))
}
