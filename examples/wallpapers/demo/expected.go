package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"os"

	"github.com/siding-dev/siding/claudesim"
)

// expected is what expected-summary.json says of the run.
type expected struct {
	Exit     int              `json:"exit"`
	Enqueued int64            `json:"enqueued"`
	Done     int64            `json:"done"`
	Dead     int64            `json:"dead"`
	Causes   map[string]int64 `json:"causes"`
}

func readExpected(file string) (expected, error) {
	var e expected
	data, err := os.ReadFile(file)
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return e, fmt.Errorf("%s: %w", file, err)
	}
	return e, nil
}

// summary is the last line of siding run --json.
type summary struct {
	Type          string      `json:"type"`
	Enqueued      int64       `json:"enqueued"`
	Done          int64       `json:"done"`
	Dead          int64       `json:"dead"`
	Held          int64       `json:"held"`
	Pending       int64       `json:"pending"`
	Discarded     int64       `json:"discarded"`
	Calls         int64       `json:"calls"`
	UnknownCalls  int64       `json:"unknown_calls"`
	CostUSD       json.Number `json:"cost_usd"`
	UnknownMaxUSD json.Number `json:"unknown_max_usd"`
	UnpricedCalls int64       `json:"unpriced_calls"`
	Causes        []struct {
		Cause string `json:"cause"`
		Count int64  `json:"count"`
	} `json:"causes"`
}

// outcome is what the demo has seen.
type outcome struct {
	exit, exitAgain int
	sum             summary
	meter, again    claudesim.Meter // after the first run, and after the second
}

// check says all that is not as it should be, or nil.
func (e expected) check(o outcome) error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("- "+format, args...)) }
	if o.exit != e.Exit || o.exitAgain != e.Exit {
		wrong("exit codes are %d and %d; both should be %d", o.exit, o.exitAgain, e.Exit)
	}
	s := o.sum
	if s.Enqueued != e.Enqueued || s.Done != e.Done || s.Dead != e.Dead || s.Held+s.Pending+s.Discarded != 0 {
		wrong("%d records, %d done, %d set aside, %d neither; it should be %d, %d, %d and none",
			s.Enqueued, s.Done, s.Dead, s.Held+s.Pending+s.Discarded, e.Enqueued, e.Done, e.Dead)
	}
	causes := map[string]int64{}
	for _, c := range s.Causes {
		causes[c.Cause] += c.Count
	}
	if !maps.Equal(causes, e.Causes) {
		wrong("the causes are %v; they should be %v", causes, e.Causes)
	}
	if o.again.Totals.Calls != o.meter.Totals.Calls {
		wrong("the second run made %d calls; it should make none", o.again.Totals.Calls-o.meter.Totals.Calls)
	}
	if s.Calls != o.meter.Totals.Calls {
		wrong("the journal has %d calls, the simulator saw %d", s.Calls, o.meter.Totals.Calls)
	}
	if n := o.meter.Totals.PaidAgain; n != 0 {
		wrong("%d calls were paid for again although their answer had come", n)
	}
	errs = append(errs, s.checkBill(o.meter.Totals.CostPico))
	return errors.Join(errs...)
}

// checkBill holds cost ≤ bill ≤ cost + unknown_max, exactly: the figures are decimals, and never go through a float.
func (s summary) checkBill(billPico int64) error {
	cost, ok1 := new(big.Rat).SetString(s.CostUSD.String())
	unknown, ok2 := new(big.Rat).SetString(s.UnknownMaxUSD.String())
	if !ok1 || !ok2 {
		return fmt.Errorf("- cost_usd %q and unknown_max_usd %q should be numbers", s.CostUSD, s.UnknownMaxUSD)
	}
	bill := big.NewRat(billPico, 1e12)
	most := new(big.Rat).Add(cost, unknown)
	if bill.Cmp(cost) < 0 || bill.Cmp(most) > 0 {
		return fmt.Errorf("- the bill of $%s should lie between $%s and $%s", bill.FloatString(6), cost.FloatString(6), most.FloatString(6))
	}
	if s.UnknownCalls == 0 && unknown.Sign() != 0 {
		return errors.New("- no call is of unknown fate, but unknown_max_usd is not 0")
	}
	return nil
}

// planned counts the calls that met a fault of the profile.
func planned(m claudesim.Meter) int64 {
	var n int64
	for _, count := range m.Faults {
		n += count
	}
	return n
}

// dollars shows a decimal as people read money.
func dollars(n json.Number) string {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return n.String()
	}
	return "$" + r.FloatString(6)
}
