package triage

import (
	"fmt"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// preview is what repairs would do to a letter, and to the others of its group.
type preview struct {
	repairs []string
	preview Preview
	loaded  bool
	lines   []string
	list    list
	asked   int

	totals   Counts
	work     Work // while it counts
	complete bool
	counting int // as asked, for the totals
}

func (p *preview) wrap(width int) {
	p.lines = p.lines[:0]
	if p.preview.Problem != "" {
		p.lines = append(p.lines, wrap(p.preview.Problem, width)...)
	}
	for _, line := range p.preview.Lines {
		p.lines = append(p.lines, wrap(line, width)...)
	}
}

type (
	previewMsg struct {
		asked   int
		preview Preview
		err     error
	}
	totalsMsg struct {
		counting int
		counts   Counts
		more     bool
		err      error
	}
)

// openPreview shows what repairs do to the letter at hand, and begins to count what they do to its group.
func (m *Model) openPreview(repairs []string) tea.Cmd {
	done := m.closeTotals()
	m.preview = preview{repairs: repairs, asked: m.preview.asked, counting: m.preview.counting + 1}
	m.preview.work = m.desk.Totals(m.ctx, m.group().Key, repairs)
	m.screen = onPreview
	return tea.Batch(done, m.loadPreview(), m.count())
}

func (m *Model) loadPreview() tea.Cmd {
	p := &m.preview
	p.asked++
	p.preview, p.loaded, p.lines, p.list = Preview{}, false, nil, list{}
	asked, queue, id, repairs := p.asked, m.group().Key.Queue, m.letter.letter.ID, p.repairs
	return func() tea.Msg {
		got, err := m.desk.Preview(m.ctx, queue, id, repairs)
		return previewMsg{asked, got, err}
	}
}

func (m *Model) gotPreview(msg previewMsg) {
	if msg.asked != m.preview.asked {
		return
	}
	if m.preview.loaded = true; msg.err != nil {
		m.sayError(msg.err)
		return
	}
	m.preview.preview = msg.preview
	m.preview.wrap(m.width)
}

// count does the next step of the totals.
func (m *Model) count() tea.Cmd {
	work, counting := m.preview.work, m.preview.counting
	if work == nil {
		return nil
	}
	return func() tea.Msg {
		c, more, err := work.Next(m.ctx)
		return totalsMsg{counting, c, more, err}
	}
}

func (m *Model) gotTotals(msg totalsMsg) tea.Cmd {
	if msg.counting != m.preview.counting || m.preview.work == nil {
		return nil
	}
	m.preview.totals = msg.counts
	switch {
	case msg.err != nil:
		m.sayError(msg.err)
		return m.closeTotals()
	case msg.more && m.screen == onPreview:
		return m.count()
	case !msg.more:
		m.preview.complete = true
	}
	return m.closeTotals()
}

func (m *Model) closeTotals() tea.Cmd {
	work := m.preview.work
	m.preview.work = nil
	if work == nil {
		return nil
	}
	return func() tea.Msg {
		work.Close()
		return nil
	}
}

func (m *Model) previewKey(key string) tea.Cmd {
	p := &m.preview
	if by, ok := step(key, len(p.lines), m.high()-previewHead); ok {
		p.list.scroll(by, len(p.lines), m.high()-previewHead)
		return nil
	}
	switch {
	case back(key):
		m.screen = onRepairs
		return m.closeTotals()
	case key == "n" || key == "p":
		return m.previewOf(map[string]int{"n": 1, "p": -1}[key])
	case (forth(key) || key == "1") && p.loaded:
		if p.preview.Verdict != "changed" {
			m.say("this one stays: it is " + p.preview.Verdict)
			return nil
		}
		m.confirm(fmt.Sprintf("mend %s and send it back?", m.letter.letter.ID), func() tea.Cmd {
			return m.start("sent back", m.desk.SendBack(m.ctx, m.target(), p.repairs))
		})
	case key == "a":
		m.confirm(fmt.Sprintf("mend all %d letters of the group and send them back?", m.group().Dead), func() tea.Cmd {
			return m.start("sent back", m.desk.SendBack(m.ctx, Target{Key: m.group().Key}, p.repairs))
		})
	case key == "c":
		m.ask("campaign: how many are tried first", "10", func(text string) tea.Cmd {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil || n < 1 {
				m.sayError(fmt.Errorf("%q is no number of letters; give 1 or more", text))
				return nil
			}
			group, list := m.group().Key, p.repairs
			return func() tea.Msg {
				said, err := m.desk.Campaign(m.ctx, group, list, n)
				return doneMsg{said, err}
			}
		})
	}
	return nil
}

// previewOf shows the same repairs on the next letter, or the one before.
func (m *Model) previewOf(by int) tea.Cmd {
	row := m.letters.list.at + by
	if row < 0 || row >= len(m.letters.rows) {
		m.say("there is no other letter")
		return m.moreRows()
	}
	more := m.openLetter(row)
	m.screen = onPreview
	return tea.Batch(more, m.loadPreview())
}

// totalsText says what the repairs do to the group, as far as it has been counted.
func (m *Model) totalsText() string {
	c := m.preview.totals
	text := fmt.Sprintf("of %d: %d would change, %d unchanged, %d invalid", c.Seen, c.Changed, c.Unchanged, c.Invalid)
	if c.NoBody > 0 {
		text += fmt.Sprintf(", %d without a body", c.NoBody)
	}
	if !m.preview.complete {
		text = "the group so far: " + text
	} else {
		text = "the group: " + text
	}
	return strings.TrimSpace(text + "  " + c.Note)
}
