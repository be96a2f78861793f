package triage

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// running is work under way: letters are being sent back, or given up.
type running struct {
	verb     string
	work     Work
	counts   Counts
	stopping bool
}

type workMsg struct {
	counts Counts
	more   bool
	err    error
}

func (m *Model) start(verb string, work Work) tea.Cmd {
	m.running = &running{verb: verb, work: work}
	return m.next()
}

func (m *Model) next() tea.Cmd {
	work := m.running.work
	return func() tea.Msg {
		c, more, err := work.Next(m.ctx)
		return workMsg{c, more, err}
	}
}

// runningKey obeys a key while work is under way: it can be stopped, and what was done stays done.
func (m *Model) runningKey(key string) tea.Cmd {
	if key == "esc" || key == "q" {
		m.running.stopping = true
	}
	return nil
}

func (m *Model) gotWork(msg workMsg) tea.Cmd {
	r := m.running
	if r == nil {
		return nil
	}
	r.counts = msg.counts
	if msg.more && msg.err == nil && !r.stopping {
		return m.next()
	}
	m.say(r.text())
	switch {
	case msg.err != nil:
		m.sayError(fmt.Errorf("%s; then: %w", r.text(), msg.err))
	case msg.more:
		m.say("stopped: " + r.text())
	}
	done := m.closeRunning()
	at := m.letters.list
	load := m.openLetters(m.group()) // what is left of the group
	m.letters.list = at
	return tea.Batch(done, m.closeTotals(), load, m.loadGroups())
}

func (m *Model) closeRunning() tea.Cmd {
	r := m.running
	m.running = nil
	if r == nil {
		return nil
	}
	return func() tea.Msg {
		r.work.Close()
		return nil
	}
}

func (r *running) text() string {
	c := r.counts
	parts := []string{fmt.Sprintf("%d %s", c.Changed, r.verb)}
	for _, each := range []struct {
		n    int64
		what string
	}{{c.Unchanged, "unchanged, and stay"}, {c.Invalid, "invalid, and stay"}, {c.Missed, "not set aside any more"}, {c.NoBody, "without a body, and stay"}} {
		if each.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", each.n, each.what))
		}
	}
	return strings.Join(parts, ", ")
}
