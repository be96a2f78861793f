package claude

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const tagsSchema = `{
  "type": "object",
  "properties": {
    "title": {"type": "string"},
    "mood": {"type": "string", "enum": ["Calm", "Bright", "Dark"]},
    "tags": {"type": "array", "items": {"type": "string"}}
  },
  "required": ["title", "mood", "tags"],
  "additionalProperties": false
}`

// config is a recipe that works; tests change what they are about.
func config(j siding.Journal, client *http.Client) Config {
	return Config{
		Model: "claude-haiku-4-5", MaxTokens: 1024, System: "You tag wallpapers.", Prompt: "Title: {{.title}}",
		APIKey: "sk-test-key", BaseURL: "http://claude.test", HTTPClient: client, Journal: j, EventHeader: claudesim.EventHeader,
	}
}

func newHandler(t *testing.T, c Config) *Handler {
	t.Helper()
	h, err := New(c)
	require.NoError(t, err)
	return h
}

// sim starts a simulator whose calls fail as the rules say.
func sim(t *testing.T, rules ...claudesim.Rule) *claudesim.Server {
	t.Helper()
	s, err := claudesim.New(&claudesim.Profile{Faults: rules}, claudesim.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// once makes a rule that applies to the first call only.
func once(do claudesim.Do) claudesim.Rule {
	return claudesim.Rule{When: claudesim.When{Times: 1}, Do: do}
}

func always(do claudesim.Do) claudesim.Rule { return claudesim.Rule{Do: do} }

func delivery(id, body string) *siding.Delivery {
	return &siding.Delivery{
		Message: siding.Message{Queue: "q", ID: id, Body: []byte(body)}, Number: 2, Token: siding.LeaseToken{Message: 1, Nonce: 1},
		StartedAt: time.Now(),
	}
}

// deliver hands a message over and settles it in the journal, as a worker does.
func deliver(t *testing.T, h *Handler, j *fakeJournal, d *siding.Delivery) (siding.Result, *siding.Failure) {
	t.Helper()
	res, err := h.Handle(t.Context(), d)
	j.settle(res.Judged)
	if err == nil {
		return res, nil
	}
	return res, siding.FailureOf(err)
}

// fakeJournal is a journal in memory that keeps the contract, panics when its user breaks it, and fails on request.
type fakeJournal struct {
	mu      sync.Mutex
	calls   []siding.Call
	answers map[siding.CallID][]byte
	events  map[siding.LeaseToken]string

	failStart func(n int) error // called for the nth write
	failEnd   func(n int) error
	failCalls error
	starts    int
	ends      int
	busyUntil time.Time
}

func newJournal() *fakeJournal {
	return &fakeJournal{answers: map[siding.CallID][]byte{}, events: map[siding.LeaseToken]string{}}
}

func (j *fakeJournal) StartCall(ctx context.Context, r siding.CallRequest) (siding.CallStart, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return siding.CallStart{}, context.Cause(ctx)
	}
	if r.RequestHash == (siding.Hash{}) || r.AskHash == (siding.Hash{}) || r.Deadline <= 0 || r.Digest == "" || r.Lane == "" || r.OnUnknown == "" || r.OutputLimit < 1 {
		panic(fmt.Sprintf("an incomplete request of a call: %+v", r))
	}
	j.starts++
	if j.failStart != nil {
		if err := j.failStart(j.starts); err != nil {
			return siding.CallStart{}, err
		}
	}
	for _, id := range r.Rejected {
		j.judge(siding.Judgement{Call: id, Digest: r.Digest})
	}
	if !j.busyUntil.IsZero() {
		return siding.CallStart{BusyUntil: j.busyUntil}, nil
	}
	unknown := 0
	for _, c := range slices.Backward(j.calls) {
		if c.RequestHash != r.RequestHash && c.AskHash != r.AskHash {
			continue
		}
		if c.Maybe() && c.RequestHash == r.RequestHash {
			unknown++
		}
		if c.Fate == siding.FateAnswered && (c.Verdict != siding.VerdictRejected || c.JudgedUnder != r.Digest) {
			return siding.CallStart{Answer: &c, Body: j.answers[c.ID]}, nil
		}
	}
	if unknown > 0 && r.OnUnknown == siding.UnknownQuarantine {
		return siding.CallStart{Unknown: unknown}, nil
	}
	id := siding.CallID(len(j.calls) + 1)
	j.calls = append(j.calls, siding.Call{
		ID: id, Queue: "q", EventID: "e", RequestHash: r.RequestHash, AskHash: r.AskHash, Digest: r.Digest, Lane: r.Lane, Fate: siding.FateStarted,
		OutputLimit: r.OutputLimit, WorstCost: r.WorstCost, Priced: r.Priced,
	})
	return siding.CallStart{Call: id, Unknown: unknown}, nil
}

func (j *fakeJournal) EndCall(ctx context.Context, e siding.CallEnd) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends++
	if ctx.Err() != nil {
		panic("a call was ended under a context that had ended")
	}
	if j.failEnd != nil {
		if err := j.failEnd(j.ends); err != nil {
			return err
		}
	}
	c := &j.calls[e.Call-1]
	if c.Fate != siding.FateStarted && c.Fate != siding.FateUnknown {
		return nil
	}
	if (e.Fate == siding.FateAnswered) != (e.Answer != nil) || (e.Fate != siding.FateAnswered) != (e.Failure != nil) {
		panic(fmt.Sprintf("an end that does not fit its fate: %+v", e))
	}
	c.Fate, c.Status, c.RequestID, c.Usage, c.Cost, c.Priced, c.Error = e.Fate, e.Status, e.RequestID, e.Usage, e.Cost, e.Priced, e.Failure.Stored()
	if e.Answer != nil {
		j.answers[e.Call] = e.Answer
	}
	return nil
}

func (j *fakeJournal) Calls(context.Context, string, string) ([]siding.Call, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]siding.Call(nil), j.calls...), j.failCalls
}

func (j *fakeJournal) Answer(_ context.Context, id siding.CallID) ([]byte, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if body, ok := j.answers[id]; ok {
		return body, nil
	}
	return nil, siding.ErrNotFound
}

func (j *fakeJournal) settle(list []siding.Judgement) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, each := range list {
		if each.Call == 0 || each.Digest == "" || each.Accepted == (each.Cause != "") {
			panic(fmt.Sprintf("a verdict that is none: %+v", each))
		}
		j.judge(each)
	}
}

func (j *fakeJournal) judge(v siding.Judgement) {
	c := &j.calls[v.Call-1]
	c.Verdict, c.JudgedUnder = siding.VerdictRejected, v.Digest
	if v.Accepted {
		c.Verdict = siding.VerdictAccepted
	}
	if v.Cause != "" {
		c.JudgedCause = v.Cause
	}
}

func (j *fakeJournal) all() []siding.Call {
	calls, _ := j.Calls(context.Background(), "", "")
	return calls
}

// bill gives what the journal says was paid, and what may have been on top.
func (j *fakeJournal) bill() (cost, unknown siding.Money) {
	for _, c := range j.all() {
		cost = cost.Add(c.Cost)
		if c.Maybe() {
			unknown = unknown.Add(c.WorstCost)
		}
	}
	return cost, unknown
}
