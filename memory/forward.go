package memory

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/siding-dev/siding"
)

// forward carries out a forwarded failure of a leased message: it puts the copy into the other queue. It gives the failure
// as it counts: where there can be no copy it is a permanent one. A message that another body waits for is not forwarded:
// that body takes its place.
func (x *tx) forward(m *message, f *siding.Failure) *siding.Failure {
	if f == nil || f.Outcome != siding.OutcomeForwarded || m.next != nil || f.Queue == "" || f.Queue == m.Queue || m.Returned > 0 {
		return f
	}
	why := x.makeCopy(m, f.Queue)
	if why == nil {
		return f
	}
	g := *f
	g.Outcome, g.Err = siding.OutcomePermanent, fmt.Errorf("%w; it cannot be sent to the queue %q: %w", f.Err, siding.Scrub(f.Queue, 128), why)
	return &g
}

// makeCopy enqueues a message in another queue under its own event ID, or says why that cannot be.
func (x *tx) makeCopy(m *message, queue string) error {
	if err := siding.CheckID(queue); err != nil {
		return err
	}
	in := siding.NewMessage{
		ID: m.ID, Body: copied(m.Body), ContentType: m.ContentType, Headers: maps.Clone(m.Headers), ExpiresAt: m.ExpiresAt,
		Priority: m.Priority, FairnessKey: m.FairnessKey, Source: shownSource(m.source),
	}
	hash := siding.Hash(sha256.Sum256(in.Body))
	n, known := x.numbers[key{queue, m.ID}]
	if !known {
		if _, err := x.insert(queue, siding.EnqueueOptions{}, in, hash); err != nil {
			return err
		}
		x.link(m.number, x.numbers[key{queue, m.ID}])
		return nil
	}
	c := *x.messages[n]
	if x.goesRound(m, &c) {
		return errors.New("it waits there for this queue")
	}
	received := c.received
	if c.next != nil {
		received = sha256.Sum256(c.next.Body)
	}
	switch {
	case c.State == siding.StateDiscarded:
		return errors.New("it has been given up there")
	case received != hash && c.State == siding.StateLeased:
		c.next = &in
		x.put(&c)
	case received != hash:
		x.supersede(&c, in)
		x.put(&c)
	case c.State == siding.StateDead:
		c.restore(in.Body)
		if err := x.redrive(&c, hand{}); err != nil {
			return err
		}
	case c.State == siding.StateDone:
		c.restore(in.Body)
		x.reask(&c)
		x.put(&c)
	}
	x.link(m.number, n)
	return nil
}

// goesRound tells whether the copy waits, by however many queues, for the message's own.
func (x *tx) goesRound(m, c *message) bool {
	for c != nil && c.State == siding.StateReady && c.WaitsFor != "" {
		if c.WaitsFor == m.Queue {
			return true
		}
		c = x.messages[x.numbers[key{c.WaitsFor, m.ID}]]
	}
	return false
}

// link notes that one message is the copy of another, and so are its copies; and of whatever was forwarded as that one.
func (x *tx) link(origin, number int64) {
	origins := append([]int64{origin}, x.originsOf[origin]...)
	for _, c := range append([]int64{number}, x.copies[number]...) {
		for _, o := range origins {
			if o != c && !slices.Contains(x.copies[o], c) {
				set(x, x.copies, o, append(slices.Clip(x.copies[o]), c))
				set(x, x.originsOf, c, append(slices.Clip(x.originsOf[c]), o))
			}
		}
	}
}

// waitingFor gives copies of the messages that wait for the result of a message.
func (x *tx) waitingFor(m *message) (all []*message) {
	for _, n := range x.originsOf[m.number] {
		if o := *x.messages[n]; o.WaitsFor == m.Queue {
			all = append(all, &o)
		}
	}
	return all
}

// tellOrigins has the messages that wait for a copy follow it, after it has changed its state: what is done gives its
// result, what is set aside or given up sets them aside, and where it comes back they wait again.
func (x *tx) tellOrigins(m *message, then *siding.Then) {
	for _, o := range x.waitingFor(m) {
		waits := o.State == siding.StateReady
		switch {
		case m.State == siding.StateDone && waits:
			x.giveBack(o, m, then)
		case m.State == siding.StateDead && waits:
			x.failWith(o, m)
		case m.State == siding.StateDiscarded && waits:
			x.waitedInVain(o, m.Queue, errors.New("its copy there was given up"))
		case m.State == siding.StateReady && !waits && o.NoBody: // there is nothing into which a result could come
			o.WaitsFor = ""
			x.put(o)
		case m.State == siding.StateReady && !waits:
			o.State, o.AvailableAt, o.DeadAt, o.Reason = siding.StateReady, siding.Never, time.Time{}, ""
			x.put(o)
			x.tellOrigins(o, nil)
		case m.State != siding.StateReady && m.State != siding.StateDead:
			o.WaitsFor = ""
			x.put(o)
		}
	}
}

// giveBack puts a copy's result into the message that waits for it, which is then untried.
func (x *tx) giveBack(o, m *message, then *siding.Then) {
	if then == nil || then.Queue != o.Queue {
		x.waitedInVain(o, m.Queue, fmt.Errorf("the results of that queue do not go to %s; its recipe needs then: {queue: %s, field: ...}", o.Queue, o.Queue))
		return
	}
	body, err := siding.ReturnResult(o.Body, then.Field, m.result)
	if err != nil {
		x.waitedInVain(o, m.Queue, err)
		return
	}
	o.revise(siding.Revision{
		At: x.now, Kind: siding.RevisionReturned, Body: o.Body,
		Note: siding.Scrub(fmt.Sprintf("the result of the queue %s came into %s", m.Queue, then.Field), siding.MaxHeader),
	})
	o.reset()
	o.Body, o.State, o.AvailableAt = body, siding.StateReady, x.now
	o.Returned++
	x.put(o)
}

// failWith sets a message aside because its copy was, whose result may still come.
func (x *tx) failWith(o, m *message) {
	e := m.LastError
	o.setAside(&siding.Failure{
		Cause: e.Cause, Status: e.Status, RequestID: e.RequestID,
		Err: fmt.Errorf("its copy in the queue %s was set aside: %s", m.Queue, e.Text),
	}, siding.ReasonPoison, x.now)
	x.put(o)
	x.tellOrigins(o, nil)
}

// waitedInVain sets a message aside into which no result will come.
func (x *tx) waitedInVain(o *message, queue string, why error) {
	cause := siding.CauseUnknown
	if o.LastError != nil {
		cause = o.LastError.Cause
	}
	o.WaitsFor = ""
	o.setAside(&siding.Failure{
		Cause: cause, Err: fmt.Errorf("it was sent to the queue %s, and no result came back: %w", queue, why),
	}, siding.ReasonPoison, x.now)
	x.put(o)
	x.tellOrigins(o, nil)
}

// partWays ends the waiting of those for whom a copy, which has just been superseded, is no copy any more: its body is not
// theirs.
func (x *tx) partWays(m *message) {
	for _, o := range x.waitingFor(m) {
		switch {
		case bytes.Equal(o.Body, m.Body):
		case o.State == siding.StateReady:
			x.waitedInVain(o, m.Queue, errors.New("its copy there was replaced by another body"))
		default:
			o.WaitsFor = ""
			x.put(o)
		}
	}
}

// follows tells whether a message that waits for a copy stands where that one does.
func (x *tx) follows(m *message) bool {
	c := x.messages[x.numbers[key{m.WaitsFor, m.ID}]]
	if c == nil || !slices.Contains(x.originsOf[c.number], m.number) {
		return false
	}
	switch m.State {
	case siding.StateReady:
		return c.State == siding.StateReady || c.State == siding.StateLeased
	case siding.StateDead:
		return c.State == siding.StateDead
	}
	return false
}
