package postgres

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// stored is a message's row.
type stored struct {
	siding.Message
	id, queue      int64
	hasInput       bool // an input has enqueued it
	hasSource      bool
	input, ordinal int64
	nonce          int64
	leaseStarted   time.Time
	leasedUntil    time.Time
	worker         string
	process        int64
	pending        bool
	resetAfter     int // the number of the latest delivery when the counters were last set to 0
	cause          string
	fingerprint    string
	copy           bool // a message of another queue was forwarded as this one
}

// messageColumns are the columns that [row.message] reads, of messages under the name m.
const messageColumns = `m.id, m.queue, m.event_id, m.state, m.priority, m.available_at, m.expires_at, m.received_at,
	m.attempt, m.gray, m.waits, m.interruptions, m.redrives, m.deliveries, m.suspect, m.dead_at, m.reason, m.cause,
	m.fingerprint, m.digest, m.fairness_key, m.input, m.ordinal, m.lease_nonce, m.lease_started, m.lease_until, m.worker,
	m.process, m.pending, m.solo_crashes, m.alone, m.held_at, m.reset_after, m.waits_for, m.returned, m.copy, m.no_body`

const messageWidth = 37

// message reads [messageColumns] from the first column on. The queue's name, the body and the last error are not there.
func (r *row) message() stored {
	m := stored{
		id: r.int(0), queue: r.int(1), cause: r.str(17), fingerprint: r.str(18), hasInput: !r.null(21), input: r.int(21), hasSource: !r.null(22),
		ordinal: r.int(22), nonce: r.int(23), leaseStarted: r.time(24), leasedUntil: r.time(25), worker: r.str(26),
		process: r.int(27), pending: r.bool(28), resetAfter: r.counter(32), copy: r.bool(35),
	}
	m.Message = siding.Message{
		ID: r.str(2), State: siding.State(r.str(3)), Priority: int16(r.small(4, -1<<15, 1<<15-1)), AvailableAt: r.time(5), ExpiresAt: r.time(6),
		ReceivedAt: r.time(7), Attempt: r.counter(8), Gray: r.counter(9), Waits: r.counter(10), Interruptions: r.counter(11),
		Redrives: r.counter(12), Deliveries: r.counter(13), Suspect: r.bool(14), DeadAt: r.time(15),
		Reason: siding.Reason(r.str(16)), Digest: r.str(19), FairnessKey: r.str(20), SoloCrashes: r.counter(29),
		Alone: r.bool(30), HeldAt: r.time(31), WaitsFor: r.str(33), Returned: r.counter(34), NoBody: r.bool(36),
	}
	if r.err == nil && !slices.Contains(siding.States(), m.State) {
		r.err = fmt.Errorf("the state %q is not known", siding.Scrub(string(m.State), 64))
	}
	if m.State != siding.StateReady {
		m.AvailableAt = time.Time{}
	}
	return m
}

// small gives a whole number within bounds.
func (r *row) small(i int, least, most int64) int64 {
	n := r.int(i)
	if (n < least || n > most) && r.err == nil {
		r.err = fmt.Errorf("column %d holds %d, outside %d to %d", i+1, n, least, most)
	}
	return n
}

func (r *row) counter(i int) int { return int(r.small(i, 0, 1<<40)) }

// apart tells whether the message is leased alone: nothing else is in flight in the process then.
func (m *stored) apart() bool { return m.Suspect || m.Alone }

// The turns: among whom a ready message waits. Those that are leased alone have turnApart and more, by their solo crashes.
const (
	turnWaiting = iota - 1 // for the result of another queue: nobody leases them
	turnUntried
	turnTried
	turnApart
)

// waits tells whether the message waits for the result of another queue.
func (m *stored) waits() bool { return m.State == siding.StateReady && m.WaitsFor != "" }

func (m *stored) turn() int {
	switch {
	case m.waits():
		return turnWaiting
	case m.apart():
		return turnApart + m.SoloCrashes
	case m.Attempt > 0:
		return turnTried
	}
	return turnUntried
}

// forget makes the message one that has never failed: the counters that stand in its row only.
func (m *stored) forget() {
	m.Attempt, m.Gray, m.Waits, m.Interruptions = 0, 0, 0, 0
	m.Suspect, m.SoloCrashes, m.Alone, m.HeldAt = false, 0, false, time.Time{}
	m.cause, m.fingerprint, m.WaitsFor = "", "", ""
}

// forgotten is what forget means for the row.
const forgotten = `turn = 0, attempt = 0, gray = 0, waits = 0, interruptions = 0, reset_after = deliveries, suspect = false,
	solo_crashes = 0, alone = false, held_at = NULL, waits_for = NULL`

// standing gives where the message counts now.
func (m *stored) standing() standing {
	st := standing{state: m.State, tried: m.Attempt > 0}
	switch m.State {
	case siding.StateReady:
		st.detail = m.WaitsFor
	case siding.StateDone:
		st.detail = m.Digest
	case siding.StateDead:
		st.detail, st.fingerprint = m.cause, m.fingerprint
	}
	return st
}

// errorColumns are those of last_errors under the name e that [row.lastError] reads.
const errorColumns = "e.outcome, e.cause, e.fingerprint, e.error, e.status, e.request_id, e.fault_offset"

const errorWidth = 7

func (r *row) lastError(i int) *siding.LastError {
	if r.null(i) {
		return nil
	}
	return r.lastErrorOf(siding.Outcome(r.str(i)), i+1)
}

// lastErrorOf reads cause, fingerprint, text, status, request ID and offset from column i on.
func (r *row) lastErrorOf(outcome siding.Outcome, i int) *siding.LastError {
	e := &siding.LastError{
		Outcome: outcome, Cause: siding.Cause(r.str(i)), Fingerprint: r.str(i + 1), Text: r.str(i + 2), Status: int(r.int(i + 3)),
		RequestID: r.str(i + 4),
	}
	if !r.null(i + 5) {
		at := r.int(i + 5)
		e.FaultOffset = &at
	}
	return e
}

func offset(e *siding.LastError) any {
	if e.FaultOffset == nil {
		return nil
	}
	return *e.FaultOffset
}

// setError writes the last error of a message; nil removes it.
func (t *tx) setError(message int64, e *siding.LastError) error {
	if e == nil {
		return t.send("DELETE FROM last_errors WHERE message = ?", message)
	}
	t.row(`INSERT INTO last_errors (message, outcome, cause, fingerprint, error, status, request_id, fault_offset)
		SELECT * FROM unnest(?::bigint[], ?::text[], ?::text[], ?::text[], ?::text[], ?::bigint[], ?::text[], ?::bigint[])
		ON CONFLICT (message) DO UPDATE SET outcome = excluded.outcome, cause = excluded.cause,
		fingerprint = excluded.fingerprint, error = excluded.error, status = excluded.status, request_id = excluded.request_id,
		fault_offset = excluded.fault_offset`,
		message, string(e.Outcome), string(e.Cause), e.Fingerprint, e.Text, e.Status, e.RequestID, offset(e))
	return nil
}

// content is what a producer gave besides the ID.
type content struct {
	hash        [32]byte
	contentType string
	headers     any // JSON, or nil
	body        []byte
	notBefore   time.Time
	expiresAt   time.Time
	priority    int16
	fairnessKey string
	failure     *siding.LastError // set aside at once
	reason      siding.Reason
}

// bodyColumns are those of bodies under the name b that [row.body] reads.
const bodyColumns = "b.content_type, b.headers, b.codec, b.key_id, b.body"

const bodyWidth = 5

// body fills in what stands in the row of the body.
func (r *row) body(i int, m *siding.Message) {
	if r.null(i) && r.err == nil {
		r.err = errors.New("the row of its body is missing")
	}
	m.ContentType = r.str(i)
	if m.ContentType == "" {
		m.ContentType = defaultContentType
	}
	m.Headers = r.headers(i + 1)
	m.Body = r.coded(i + 2)
}

func (r *row) headers(i int) (h map[string]string) {
	if text := r.str(i); text != "" {
		if err := json.Unmarshal([]byte(text), &h); err != nil && r.err == nil {
			r.err = fmt.Errorf("the headers cannot be read: %w", err)
		}
	}
	return h
}

// headersText gives headers as they are stored: scrubbed, as JSON; nil where there are none.
func headersText(headers map[string]string) (any, error) {
	if len(headers) == 0 {
		return nil, nil //nolint:nilnil // NULL
	}
	h := make(map[string]string, len(headers))
	for k, v := range headers {
		h[siding.Scrub(k, siding.MaxHeader)] = siding.Scrub(v, siding.MaxHeader)
	}
	text, err := json.Marshal(h)
	return string(text), err
}

// coded reads the columns codec, key_id and a blob. An empty blob and none are the same.
func (r *row) coded(i int) []byte {
	if codec, key := r.str(i), r.str(i+1); (codec != "" || key != "") && r.err == nil {
		r.err = fmt.Errorf("the bytes are written in the codec %q with the key %q, which this version does not know",
			siding.Scrub(codec, 64), siding.Scrub(key, 64))
	}
	return r.blob(i + 2)
}

const defaultContentType = "application/json"
