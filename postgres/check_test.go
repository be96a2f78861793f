package postgres_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/internal/pgtest"
	"github.com/siding-dev/siding/postgres"
	"github.com/stretchr/testify/require"
)

// TestCheckFindsEachBrokenRule breaks one rule at a time behind the store's back, each in a store of its own.
func TestCheckFindsEachBrokenRule(t *testing.T) {
	t.Parallel()
	for rule, breaks := range map[string]string{
		"state-unknown":          "UPDATE messages SET state = 'lost' WHERE event_id = 'ready'",
		"row-unreadable":         "UPDATE bodies SET headers = '{' WHERE message = (SELECT id FROM messages WHERE event_id = 'ready')",
		"counter-impossible":     "UPDATE messages SET interruptions = -1 WHERE event_id = 'ready'",
		"attempt-mismatch":       "UPDATE messages SET attempt = 0, turn = 0 WHERE event_id = 'dead'",
		"gray-mismatch":          "UPDATE messages SET gray = 1 WHERE event_id = 'dead'",
		"history-gap":            "UPDATE deliveries SET number = 7 WHERE message = (SELECT id FROM messages WHERE event_id = 'dead')",
		"permanent-went-back":    "UPDATE messages SET state = 'ready' WHERE event_id = 'dead'",
		"done-without-success":   "UPDATE deliveries SET outcome = 'held', error = 'x' WHERE outcome = 'done'",
		"dead-incomplete":        "DELETE FROM last_errors",
		"dead-left-over":         "UPDATE messages SET reason = 'poison' WHERE event_id = 'ready'",
		"time-impossible":        "UPDATE messages SET available_at = 1 WHERE event_id = 'ready'",
		"lease-mismatch":         "UPDATE messages SET lease_nonce = 0 WHERE event_id = 'leased'",
		"lease-of-nobody":        "UPDATE messages SET process = 99 WHERE event_id = 'leased'",
		"digest-left-over":       "UPDATE messages SET digest = 'd' WHERE event_id = 'ready'",
		"pending-mismatch":       "UPDATE messages SET pending = true WHERE event_id = 'leased'",
		"body-missing":           "DELETE FROM bodies WHERE message = (SELECT id FROM messages WHERE event_id = 'ready')",
		"error-mismatch":         "UPDATE messages SET cause = 'timeout' WHERE event_id = 'dead'",
		"queue-missing":          "UPDATE messages SET queue = 77 WHERE event_id = 'ready'",
		"answer-unjudged":        "UPDATE calls SET verdict = ''",
		"request-paid-twice":     "INSERT INTO calls SELECT id + 100, message, delivery, process, request_hash, ask_hash, digest, lane, ended_at + 1, deadline, ended_at + 2, fate, status, request_id, output_limit, input_tokens, output_tokens, cache_write_5m_tokens, cache_write_1h_tokens, cache_read_tokens, cost, worst_cost, priced, error, verdict, judged_cause, judged_under FROM calls",
		"spend-mismatch":         "UPDATE spend SET cost = cost + 1",
		"orphan":                 "INSERT INTO results (message, result) VALUES (12345, '\\x00'::bytea)",
		"fate-unknown":           "UPDATE calls SET fate = 'lost'",
		"call-end":               "UPDATE calls SET ended_at = NULL",
		"call-of-nobody":         "UPDATE calls SET fate = 'started', process = 99",
		"call-delivery":          "UPDATE calls SET delivery = 9",
		"answer-missing":         "DELETE FROM answers",
		"verdict-without-answer": "UPDATE calls SET fate = 'refused'",
		"cost-impossible":        "UPDATE calls SET worst_cost = -1",
		"delivery-outcome":       "UPDATE deliveries SET outcome = 'odd'",
		"delivery-times":         "UPDATE deliveries SET ended_at = 0",
		"result-without-success": "INSERT INTO results (message, result) SELECT id, '\\x00'::bytea FROM messages WHERE event_id = 'ready'",
		"relabelled-half":        "UPDATE deliveries SET outcome = 'held' WHERE outcome = 'permanent'",
		"held-never":             "UPDATE deliveries SET outcome = 'held' WHERE outcome = 'permanent'",
		"suspect-impossible":     "UPDATE messages SET alone = true, turn = 2 WHERE event_id = 'dead'",
		"turn-mismatch":          "UPDATE messages SET suspect = true WHERE event_id = 'ready'",
		"body-lost":              "UPDATE bodies SET body = NULL WHERE message = (SELECT id FROM messages WHERE event_id = 'dead')",
		"body-needed":            "UPDATE messages SET no_body = true WHERE event_id = 'ready'",
		"body-damaged":           "UPDATE bodies SET body = '\\x00'::bytea WHERE message = (SELECT id FROM messages WHERE event_id = 'ready')",
		"revision-kind":          "UPDATE revisions SET kind = 'odd'",
		"group-impossible":       "UPDATE failure_groups SET arrived = 0",
		"group-unreadable":       "UPDATE failure_groups SET hours = '{'",
		"group-mismatch":         "DELETE FROM failure_groups",
		"audit-impossible":       "UPDATE audit SET action = 'odd'",
		"note-impossible":        "UPDATE notes SET version = 0",
		"gate-key":               "UPDATE gates SET scope = 'world'",
		"gate-unreadable":        "UPDATE gates SET gate = '{' WHERE scope = 'lane'",
		"gate-of-nothing":        "UPDATE gates SET gate = replace(gate, '\"delivery\":1', '\"delivery\":7')",
		"campaign-unreadable":    "UPDATE campaigns SET campaign = '{'",
		"campaign-missing":       "UPDATE campaign_members SET campaign = 99",
		"campaign-member":        "UPDATE campaign_members SET status = 'odd'",
		"campaign-twice":         "INSERT INTO campaigns (state, campaign) SELECT state, campaign FROM campaigns; INSERT INTO campaign_members (campaign, message, dead_at, status, fingerprint) SELECT 2, message, dead_at, status, fingerprint FROM campaign_members",
		"campaign-uncounted":     "UPDATE messages SET state = 'discarded' WHERE event_id = 'sent'",
		"campaign-forgotten":     "UPDATE campaigns SET next = 99",
		"campaign-mismatch":      "UPDATE campaigns SET campaign = jsonb_set(campaign::jsonb, '{pending}', '7')::text",
		"input-abandoned":        "UPDATE inputs SET state = 'open', process = 99",
		"input-state":            "UPDATE inputs SET state = 'odd'",
		"member-of-nothing":      "UPDATE members SET input = 2",
		"tally-mismatch":         "UPDATE tallies SET n = n + 1 WHERE state = 'ready'",
		"total-mismatch":         "UPDATE spend_totals SET cost = cost + 1",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			address := pgtest.Schema(t)
			s, err := postgres.Open(t.Context(), address)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, s.Close()) })
			fill(t, s)
			clean(t, s)
			for statement := range strings.SplitSeq(breaks, "; ") {
				tamper(t, address, statement)
			}
			var found []string
			for v, err := range s.Check(t.Context()) {
				require.NoError(t, err)
				require.NotEmpty(t, v.Text)
				found = append(found, v.Rule)
			}
			require.Contains(t, found, rule)
		})
	}
}

// fill makes a message in each state, an input, a call with an accepted answer, and two gates.
func fill(t *testing.T, s *postgres.Store) {
	t.Helper()
	ctx := t.Context()
	in, err := s.BeginInput(ctx, "q", "key")
	require.NoError(t, err)
	for i, id := range []string{"done", "dead", "leased", "ready"} {
		src := &siding.Source{Ordinal: int64(i), File: "f", Line: 1}
		_, err := s.Enqueue(ctx, "q", siding.EnqueueOptions{Input: in}, siding.NewMessage{ID: id, Body: []byte(id), Source: src})
		require.NoError(t, err)
	}
	require.NoError(t, s.SealInput(ctx, in))
	l, err := s.Lease(ctx, request(3))
	require.NoError(t, err)
	c, err := s.StartCall(ctx, siding.CallRequest{Token: l.Deliveries[0].Token, RequestHash: siding.Hash{1}, Deadline: time.Hour, Digest: "d"})
	require.NoError(t, err)
	require.NoError(t, s.EndCall(ctx, siding.CallEnd{Call: c.Call, Fate: siding.FateAnswered, Answer: []byte("x"), Cost: 5, Priced: true}))
	out, err := s.Settle(ctx,
		siding.Settlement{
			Token: l.Deliveries[0].Token, Digest: "d", Policy: siding.DefaultPolicy(),
			Judged: []siding.Judgement{{Call: c.Call, Accepted: true, Digest: "d"}},
		},
		siding.Settlement{
			Token: l.Deliveries[1].Token, Failure: siding.FailureOf(siding.Permanent(fmt.Errorf("no"))), Policy: siding.DefaultPolicy(),
			Gates: siding.GateKeys{
				Lane:   siding.GateKey{Scope: siding.ScopeLane, Name: "l"},
				Recipe: siding.GateKey{Scope: siding.ScopeRecipe, Name: "r"},
			},
		})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	require.NoError(t, out[1].Err)

	for _, id := range []string{"sent", "pending"} {
		_, err := s.Enqueue(ctx, "campaigns", siding.EnqueueOptions{}, siding.NewMessage{ID: id, Dead: siding.ExpiredFailure()})
		require.NoError(t, err)
	}
	_, err = s.SetNote(ctx, siding.Note{Key: "setting/x", Value: []byte("1")})
	require.NoError(t, err)
	campaign, err := s.CreateCampaign(ctx, siding.CampaignPlan{Selection: siding.Selection{Queue: "campaigns"}})
	require.NoError(t, err)
	_, err = s.Enlist(ctx, campaign.ID, siding.Place{}, 10)
	require.NoError(t, err)
	require.NoError(t, s.StartCampaign(ctx, campaign.ID))
	n, err := s.ReturnNext(ctx, campaign.ID, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

func TestCheckAddsUpAmountsThatReachTheLargest(t *testing.T) {
	t.Parallel()
	s, err := postgres.Open(t.Context(), pgtest.Schema(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	fill(t, s)
	ctx := t.Context()
	in, err := s.BeginInput(ctx, "q", "another key")
	require.NoError(t, err)
	_, err = s.Enqueue(ctx, "q", siding.EnqueueOptions{Input: in},
		siding.NewMessage{ID: "dear", Body: []byte("x"), Source: &siding.Source{File: "f", Line: 1}})
	require.NoError(t, err)
	require.NoError(t, s.SealInput(ctx, in))
	r := request(1)
	r.Input = in
	l, err := s.Lease(ctx, r)
	require.NoError(t, err)
	require.Len(t, l.Deliveries, 1)
	token := l.Deliveries[0].Token
	var judged []siding.Judgement
	for i := range 3 { // a service may say what it likes
		c, err := s.StartCall(ctx, siding.CallRequest{
			Token: token, RequestHash: siding.Hash{byte(9 + i)}, Deadline: time.Hour, Digest: "d", WorstCost: math.MaxInt64, Priced: true,
		})
		require.NoError(t, err)
		require.NoError(t, s.EndCall(ctx, siding.CallEnd{
			Call: c.Call, Fate: siding.FateAnswered, Answer: []byte("x"), Cost: math.MaxInt64 - 7, Priced: true,
		}))
		judged = append(judged, siding.Judgement{Call: c.Call, Digest: "d", Cause: siding.CauseRefused})
	}
	out, err := s.Settle(ctx, siding.Settlement{
		Token: token, Digest: "d", Policy: siding.DefaultPolicy(), Judged: judged, Failure: siding.FailureOf(siding.Permanent(fmt.Errorf("no"))),
	})
	require.NoError(t, err)
	require.NoError(t, out[0].Err)
	stats, err := s.Stats(ctx, "q")
	require.NoError(t, err)
	require.Equal(t, siding.Money(math.MaxInt64), stats[0].Cost)
	clean(t, s)
}
