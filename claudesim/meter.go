package claudesim

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Call is one call as the simulator saw it.
type Call struct {
	Type      string        `json:"type"` // "call"
	N         int64         `json:"n"`    // from 1, in the order of arrival
	Time      time.Time     `json:"time"`
	Took      time.Duration `json:"took_ns"`
	Path      string        `json:"path"` // messages, count_tokens, models, other
	Hash      string        `json:"hash"` // hex SHA-256 of the body's exact bytes
	Event     string        `json:"event,omitempty"`
	Model     string        `json:"model,omitempty"`
	Ordinal   int64         `json:"ordinal"` // how often these bytes had come by then, throttled calls not counted
	RequestID string        `json:"request_id"`
	Status    int           `json:"status"` // 0: none was sent
	Fault     string        `json:"fault,omitempty"`
	Stop      string        `json:"stop_reason,omitempty"`
	Throttled bool          `json:"throttled,omitempty"` // by the simulator's own limits
	// Complete says that the whole reply was written, as far as the server can know.
	Complete bool `json:"complete"`
	// Acceptable says that it was complete, and an answer that a client should take.
	Acceptable bool  `json:"acceptable"`
	Billed     bool  `json:"billed"`
	Unpriced   bool  `json:"unpriced,omitempty"` // billed, for a model without a known price
	Usage      Usage `json:"usage"`              // as billed; zero if it was not
	CostPico   int64 `json:"cost_pico_usd"`      // 10^-12 USD
}

// A Row is what the meter has counted for one event and request hash.
type Row struct {
	Event      string `json:"event,omitempty"`
	Hash       string `json:"hash,omitempty"`
	Calls      int64  `json:"calls"`
	Billed     int64  `json:"billed"`
	Acceptable int64  `json:"acceptable"`
	// PaidAgain counts billed calls that arrived after an acceptable answer had been written.
	PaidAgain int64 `json:"paid_again"`
	Unpriced  int64 `json:"unpriced"`
	Throttled int64 `json:"throttled"`
	Usage     Usage `json:"usage"`
	CostPico  int64 `json:"cost_pico_usd"` // 10^-12 USD

	answeredAt time.Time // when the first acceptable answer was written
	ordinal    int64
}

func (r *Row) add(o Row) {
	r.Calls += o.Calls
	r.Billed += o.Billed
	r.Acceptable += o.Acceptable
	r.PaidAgain += o.PaidAgain
	r.Unpriced += o.Unpriced
	r.Throttled += o.Throttled
	r.Usage.add(o.Usage)
	r.CostPico += o.CostPico
}

// A Meter is what has been counted up to a moment. Only calls of /v1/messages are counted in rows and totals.
type Meter struct {
	Totals Row              `json:"totals"` // Event and Hash are empty
	Faults map[string]int64 `json:"faults"` // how often each planned fault was met
	Rows   []Row            `json:"rows"`   // sorted by event, then hash
}

// ByHash adds up the rows of one request hash over all events.
func (m Meter) ByHash(hash string) Row {
	sum := Row{Hash: hash}
	for _, r := range m.Rows {
		if r.Hash == hash {
			sum.add(r)
		}
	}
	return sum
}

type rowKey struct{ event, hash string }

// meter counts. A call is counted when it arrives, billed when its work is done, and ended when its last byte goes out,
// so that the bill is right at every moment, also when a process is killed in between.
type meter struct {
	mu     sync.Mutex
	rows   map[rowKey]*Row
	faults map[string]int64
	calls  []Call // the last keep, and up to half as many before them
	keep   int
	n      int64
	file   *meterFile
}

func newMeter(keep int, file *meterFile) *meter {
	return &meter{rows: map[rowKey]*Row{}, faults: map[string]int64{}, keep: keep, file: file}
}

func (m *meter) row(c *Call) *Row {
	key := rowKey{c.Event, c.Hash}
	r := m.rows[key]
	if r == nil {
		r = &Row{Event: c.Event, Hash: c.Hash}
		m.rows[key] = r
	}
	return r
}

// arrive counts a call and gives it its number.
func (m *meter) arrive(c *Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	c.Type, c.N = "call", m.n
	if c.Path == pathMessages {
		m.row(c).Calls++
	}
}

// bill charges a call.
func (m *meter) bill(c *Call, u Usage, pico int64, priced bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Billed, c.Usage, c.CostPico, c.Unpriced = true, u, pico, !priced
	m.charge(c)
	m.file.append(*c, lineBilled)
}

func (m *meter) charge(c *Call) {
	r := m.row(c)
	r.Billed++
	r.Usage.add(c.Usage)
	r.CostPico += c.CostPico
	if c.Unpriced {
		r.Unpriced++
	}
	if !r.answeredAt.IsZero() && c.Time.After(r.answeredAt) {
		r.PaidAgain++
	}
}

// end counts how a call came out.
func (m *meter) end(c *Call, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c.Took = now.Sub(c.Time)
	m.settle(c, now)
	if m.keep > 0 {
		m.calls = append(m.calls, *c)
		if len(m.calls) > m.keep+m.keep/2 { // now and then only: moving the log costs as much as it is long
			m.calls = slices.Delete(m.calls, 0, len(m.calls)-m.keep)
		}
	}
	m.file.append(*c, lineCall)
}

func (m *meter) settle(c *Call, now time.Time) {
	if c.Fault != "" {
		m.faults[c.Fault]++
	}
	if c.Path != pathMessages {
		return
	}
	r := m.row(c)
	if c.Throttled {
		r.Throttled++
	}
	if c.Acceptable {
		r.Acceptable++
		if r.answeredAt.IsZero() {
			r.answeredAt = now
		}
	}
}

// retract takes back that a reply was complete: its last bytes could not be written.
func (m *meter) retract(c *Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c.Acceptable {
		r := m.row(c)
		if r.Acceptable--; r.Acceptable == 0 {
			r.answeredAt = time.Time{}
		}
	}
	c.Complete, c.Acceptable = false, false
	for i := len(m.calls) - 1; i >= 0; i-- {
		if m.calls[i].N == c.N {
			m.calls[i] = *c
			break
		}
	}
	m.file.append(*c, lineRetracted)
}

func (m *meter) snapshot() Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := Meter{Faults: maps.Clone(m.faults), Rows: make([]Row, 0, len(m.rows))}
	for _, r := range m.rows {
		out.Rows = append(out.Rows, *r)
		out.Totals.add(*r)
	}
	slices.SortFunc(out.Rows, func(a, b Row) int { return cmp.Or(cmp.Compare(a.Event, b.Event), cmp.Compare(a.Hash, b.Hash)) })
	return out
}

func (m *meter) log() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls[max(0, len(m.calls)-m.keep):])
}

// reset forgets everything that was counted in memory; a meter file keeps its lines, and gets one that says so.
func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.rows)
	clear(m.faults)
	m.calls, m.n = nil, 0
	m.file.append(Call{}, lineReset)
}
