package main

import (
	"context"
	"fmt"

	"github.com/siding-dev/siding"
)

// estimateLine is what sending messages back would cost, with --json: the average of answered calls of their queues, one
// call for each message.
type estimateLine struct {
	Calls        int64 `json:"calls"`
	InputTokens  int64 `json:"input_tokens"`
	OutputTokens int64 `json:"output_tokens"`
	CostUSD      *usd  `json:"cost_usd"`   // null when the price is not known
	FromCalls    int64 `json:"from_calls"` // how many answered calls the average is of
}

// estimateSample is how many done messages of a queue an estimate looks at.
const estimateSample = 200

// estimate says what messages would cost, by how many there are of each queue; nil where no call of a queue has been answered.
func estimate(ctx context.Context, d *desk, queues map[string]int64) (*estimateLine, error) {
	sum := &estimateLine{}
	var cost siding.Money
	priced := true
	for queue, n := range queues {
		u, paid, calls, unpriced, err := averageOf(ctx, d.store, queue)
		if err != nil {
			return nil, err
		}
		if calls == 0 {
			return nil, nil //nolint:nilnil // what is not known is no error
		}
		sum.Calls += n
		sum.FromCalls += calls
		sum.InputTokens += n * u.Input / calls
		sum.OutputTokens += n * u.Output / calls
		priced = priced && unpriced == 0
		cost += siding.Money(float64(paid) / float64(calls) * float64(n))
	}
	if priced {
		c := usd(cost)
		sum.CostUSD = &c
	}
	return sum, nil
}

// averageOf sums the answered calls of a queue: of done messages, else of dead ones.
func averageOf(ctx context.Context, store siding.Store, queue string) (u siding.Usage, cost siding.Money, calls, unpriced int64, err error) {
	for _, state := range []siding.State{siding.StateDone, siding.StateDead} {
		for l, err := range store.List(ctx, siding.Selection{Queue: queue, States: []siding.State{state}, Limit: estimateSample}) {
			if err != nil {
				continue // one that cannot be read is left out
			}
			of, err := store.Calls(ctx, queue, l.ID)
			if err != nil {
				return u, cost, calls, unpriced, err
			}
			for _, c := range of {
				if c.Fate != siding.FateAnswered {
					continue
				}
				if calls++; !c.Priced {
					unpriced++
				}
				u, cost = u.Add(c.Usage), cost+c.Cost
			}
		}
		if calls > 0 {
			break
		}
	}
	return u, cost, calls, unpriced, nil
}

// text says an estimate to a person.
func (e *estimateLine) text() string {
	if e == nil {
		return "what that would cost is not known: no call of the queue has been answered yet"
	}
	money := "unpriced"
	if e.CostUSD != nil {
		money = "about " + dollars(siding.Money(*e.CostUSD))
	}
	return fmt.Sprintf("that is %s, about %d tokens in and %d out, %s (the average of %s of the journal)",
		counted(e.Calls, "call"), e.InputTokens, e.OutputTokens, money, counted(e.FromCalls, "answered call"))
}

// short says an estimate in a few words; empty where nothing is known.
func (e *estimateLine) short() string {
	switch {
	case e == nil:
		return ""
	case e.CostUSD == nil:
		return "unpriced"
	}
	return "about " + dollars(siding.Money(*e.CostUSD))
}
