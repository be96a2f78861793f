package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestTheQueueHasItsFieldsInOrder(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, writeJSON(&b, newQueueLine(siding.QueueStats{
		Queue: "q", Ready: 1, Leased: 2, Done: 3, Dead: 4, Discarded: 5, Delayed: 6, Retrying: 7,
		OldestReady: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), StaleSettles: 8, Calls: 9, UnknownCalls: 10,
		UnpricedCalls: 11, Cost: siding.USD / 4, UnknownMax: siding.USD / 8,
		Causes: []siding.CauseCount{{Cause: "refused", Fingerprint: "1-a", Count: 4}},
	})))
	require.Equal(t, `{"type":"queue","v":1,"queue":"q","ready":1,"leased":2,"done":3,"dead":4,"discarded":5,"delayed":6,`+
		`"retrying":7,"oldest_ready":"2026-01-02T03:04:05.000006Z","stale_settles":8,"calls":9,"unknown_calls":10,`+
		`"cost_usd":0.25,"unknown_max_usd":0.125,"unpriced_calls":11,`+
		`"causes":[{"cause":"refused","fingerprint":"1-a","count":4}]}`+"\n", b.String())
}

func TestAMessageHasItsHistoryAndCallsWhole(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fault := int64(7)
	failed := &siding.LastError{
		Outcome: siding.OutcomePermanent, Cause: siding.CauseRefused, Fingerprint: "1-a", Text: "no", Status: 200,
		RequestID: "req_1", FaultOffset: &fault,
	}
	var b bytes.Buffer
	require.NoError(t, writeJSON(&b, newMessageLine(&siding.Record{
		Message: siding.Message{
			Queue: "q", ID: "a", State: siding.StateLeased, Attempt: 1, Gray: 2, Waits: 3, Interruptions: 4, Redrives: 5,
			Deliveries: 6, ReceivedAt: at, LastError: failed, ContentType: "text/csv", Body: []byte("x"),
		},
		Source: &siding.Source{File: "in.csv", Line: 2, Offset: 9},
		History: []siding.DeliveryRecord{{
			Number: 6, StartedAt: at, EndedAt: at.Add(time.Second), Worker: "w", Outcome: siding.OutcomePermanent, Digest: "d", Error: failed,
		}},
		Forgotten: 8,
		Calls: []siding.Call{{
			ID: 3, Delivery: 6, Lane: "l", StartedAt: at, EndedAt: at.Add(time.Second), Fate: siding.FateAnswered, Status: 200,
			RequestID: "req_1", Usage: siding.Usage{Input: 4, Output: 2}, Cost: siding.USD, Priced: true,
			Verdict: siding.VerdictRejected, JudgedCause: siding.CauseRefused, Digest: "d",
		}},
		Worker: "w2", LeasedUntil: at.Add(time.Minute),
	})))
	said := `{"outcome":"permanent","cause":"refused","fingerprint":"1-a","text":"no","status":200,"request_id":"req_1","fault_offset":7}`
	require.Equal(t, `{"type":"message","v":1,"queue":"q","id":"a","state":"leased","attempt":1,"gray":2,"waits":3,"interruptions":4,`+
		`"redrives":5,"deliveries":6,"first_received_at":"2026-01-02T03:04:05.000000Z","available_at":null,"expires_at":null,`+
		`"dead_at":null,"last_error":`+said+`,"worker":"w2","leased_until":"2026-01-02T03:05:05.000000Z","file":"in.csv",`+
		`"line":2,"offset":9,"content_type":"text/csv","priority":0,"body":"x","result":null,"history":[{"number":6,`+
		`"started_at":"2026-01-02T03:04:05.000000Z","ended_at":"2026-01-02T03:04:06.000000Z","worker":"w","outcome":"permanent",`+
		`"recipe":"d","error":`+said+`}],"forgotten":8,"calls":[{"id":3,"delivery":6,"lane":"l",`+
		`"started_at":"2026-01-02T03:04:05.000000Z","ended_at":"2026-01-02T03:04:06.000000Z","fate":"answered","status":200,`+
		`"request_id":"req_1","usage":{"input_tokens":4,"output_tokens":2},"cost_usd":1,"verdict":"rejected","rejected":"refused",`+
		`"recipe":"d","error":null}],"revisions":[],"no_body":false}`+"\n", b.String())
}
