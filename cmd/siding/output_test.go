package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

func TestEveryLineOfJSONIsSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text") +
			rapid.StringMatching("[\u0080-\u009f\u2028-\u202e\u2066-\u2069\u200e\u200f\u061c\ufeff\x7f\x00-\x1f]*").Draw(t, "controls")
		body := []byte(text)
		if rapid.Bool().Draw(t, "json") {
			body, _ = json.Marshal(map[string]string{text: text})
		}
		m := siding.Member{Message: siding.Message{ID: text, Digest: text}, Result: body}
		var b bytes.Buffer
		require.NoError(t, writeJSON(&b, newResultLine(m)))
		line := b.String()
		require.True(t, utf8.ValidString(line))
		require.True(t, json.Valid(b.Bytes()))
		require.Equal(t, 1, strings.Count(line, "\n"))
		require.NotContains(t, line[:len(line)-1], "\x1b")
		require.False(t, strings.ContainsFunc(line[:len(line)-1], func(r rune) bool {
			return r < 0x20 || siding.Scrub(string(r), 0) != string(r)
		}))
		var back resultLine
		require.NoError(t, json.Unmarshal(b.Bytes(), &back))
		if json.Valid(body) && utf8.Valid(body) {
			require.JSONEq(t, string(body), string(back.Result))
			require.Empty(t, back.ResultBase64)
		} else {
			require.Equal(t, "null", string(back.Result))
			raw, err := base64.StdEncoding.DecodeString(back.ResultBase64)
			require.NoError(t, err)
			require.Equal(t, string(body), string(raw), "the bytes are kept exactly")
		}
	})
}

func TestNumbersOfAResultKeepTheirDigits(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	m := siding.Member{Message: siding.Message{ID: "a"}, Result: []byte("{\"n\": 12345678901234567890,\n\"m\": 1e999}")}
	require.NoError(t, writeJSON(&b, newResultLine(m)))
	require.Equal(t, `{"type":"result","v":1,"id":"a","result":{"n":12345678901234567890,"m":1e999},"calls":0,`+
		`"usage":{"input_tokens":0,"output_tokens":0},"cost_usd":0,"recipe":""}`+"\n", b.String())
}

func TestMoneyIsExactInJSON(t *testing.T) {
	t.Parallel()
	for money, want := range map[siding.Money]string{
		0: "0", 1: "0.000000000001", siding.USD: "1", 1_500_000_000_000: "1.5", -1: "-0.000000000001",
		-12 * siding.USD: "-12", 10 * siding.USD: "10", math.MaxInt64: "9223372.036854775807",
		math.MinInt64: "-9223372.036854775808",
	} {
		b, err := json.Marshal(usd(money))
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
}

func TestAnUnpricedResultHasNoCost(t *testing.T) {
	t.Parallel()
	require.Nil(t, newResultLine(siding.Member{UnpricedCalls: 1}).CostUSD)
	require.NotNil(t, newResultLine(siding.Member{}).CostUSD)
}

func TestTheSummaryHasItsFieldsInOrder(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, writeJSON(&b, newSummaryLine(siding.InputStats{
		Enqueued: 7, Done: 1, Dead: 2, Held: 0, Pending: 3, Discarded: 1, Calls: 9, UnknownCalls: 1, UnpricedCalls: 4,
		Cost: siding.USD / 4, UnknownMax: siding.USD / 8,
		Causes: []siding.CauseCount{{Cause: "refused", Fingerprint: "1-a", Count: 2, Sample: "no"}},
	})))
	require.Equal(t, `{"type":"summary","v":1,"enqueued":7,"done":1,"dead":2,"held":0,"pending":3,"discarded":1,"calls":9,`+
		`"unknown_calls":1,"cost_usd":0.25,"unknown_max_usd":0.125,"unpriced_calls":4,`+
		`"causes":[{"cause":"refused","fingerprint":"1-a","count":2}],"review_prompt":false}`+"\n", b.String())
}

func TestTheDeadLetterHasItsFieldsInOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	offset := int64(17)
	l := siding.Listed{Message: siding.Message{
		Queue: "q", ID: "a", Reason: siding.ReasonPoison, Attempt: 1, ReceivedAt: at, DeadAt: at,
		LastError: &siding.LastError{Cause: siding.CauseInvalidUTF8, Fingerprint: "1-a", Text: "bad", FaultOffset: &offset},
	}}
	var b bytes.Buffer
	require.NoError(t, writeJSON(&b, newDeadLetterLine(l)))
	require.Equal(t, `{"type":"dead_letter","v":1,"queue":"q","id":"a","reason":"poison","cause":"invalid-utf8",`+
		`"fingerprint":"1-a","attempt":1,"waits":0,"interruptions":0,"redrives":0,`+
		`"first_received_at":"2026-01-02T03:04:05.000006Z","dead_at":"2026-01-02T03:04:05.000006Z","last_error":"bad",`+
		`"file":null,"line":null,"offset":null,"fault_offset":17,`+
		`"suggested_repairs":["strip-invalid-utf8","replace-invalid-utf8"],"no_body":false}`+"\n", b.String())
	l.Source, l.LastError = &siding.Source{File: "in.jsonl", Line: 3, Offset: 0}, &siding.LastError{Cause: "odd"}
	b.Reset()
	require.NoError(t, writeJSON(&b, newDeadLetterLine(l)))
	require.Contains(t, b.String(), `"file":"in.jsonl","line":3,"offset":0,"fault_offset":null,"suggested_repairs":[]`)
}

func TestReviewPromptIsForMoreThanOnePercent(t *testing.T) {
	t.Parallel()
	stats := func(mismatches, done int64) siding.InputStats {
		return siding.InputStats{Done: done, Dead: mismatches, Causes: []siding.CauseCount{
			{Cause: siding.CauseSchemaMismatch, Count: mismatches},
		}}
	}
	require.False(t, reviewPrompt(stats(0, 0)))
	require.False(t, reviewPrompt(stats(1, 99)))
	require.True(t, reviewPrompt(stats(2, 98)))
}

func TestOneLineIsCutBetweenRunes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(10, 300).Draw(t, "limit")
		s := oneLine(string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))+rapid.String().Draw(t, "text"), limit)
		require.LessOrEqual(t, len(s), limit)
		require.True(t, utf8.ValidString(s))
		require.NotContains(t, s, "\n")
	})
	require.Equal(t, "ééé…", oneLine(strings.Repeat("é", 100), 10))
}

func TestTablesAreSafeAgainstHostileCells(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	tab := newTable(&b, "ID", "TEXT")
	tab.row("a\x1b[2J\tb", "line\nline\u202e")
	require.NoError(t, tab.flush())
	require.Equal(t, "ID          TEXT\na\\x1b[2J b  line line\\u202e\n", b.String())
}
