package triage

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// letter is one letter, with all that is known of it.
type letter struct {
	letter Letter
	loaded bool
	lines  []string // as wide as the screen
	list   list
	asked  int
}

func (l *letter) wrap(width int) {
	l.lines = l.lines[:0]
	for _, line := range l.letter.Lines {
		l.lines = append(l.lines, wrap(line, width)...)
	}
}

type letterMsg struct {
	asked  int
	letter Letter
	err    error
}

// openLetter shows the letter of a row.
func (m *Model) openLetter(row int) tea.Cmd {
	if row < 0 || row >= len(m.letters.rows) {
		return nil
	}
	m.letters.list.jump(row, len(m.letters.rows), m.high())
	m.screen = onLetter
	r := m.letters.rows[row]
	key := m.group().Key
	m.letter = letter{letter: Letter{Row: r, Queue: key.Queue}, asked: m.letter.asked + 1}
	asked := m.letter.asked
	return tea.Batch(m.readAhead(), func() tea.Msg {
		l, err := m.desk.Letter(m.ctx, key.Queue, r.ID)
		return letterMsg{asked, l, err}
	})
}

func (m *Model) gotLetter(msg letterMsg) {
	if msg.asked != m.letter.asked {
		return
	}
	m.letter.loaded = true
	if msg.err != nil {
		m.sayError(msg.err)
		return
	}
	m.letter.letter = msg.letter
	m.letter.wrap(m.width)
}

func (m *Model) letterKey(key string) tea.Cmd {
	l := &m.letter
	if by, ok := step(key, len(l.lines), m.high()); ok {
		l.list.scroll(by, len(l.lines), m.high())
		return nil
	}
	switch {
	case back(key):
		m.screen = onLetters
	case key == "n":
		return m.openLetter(m.letters.list.at + 1)
	case key == "p":
		return m.openLetter(m.letters.list.at - 1)
	case key == "m":
		m.mark(m.group().Key)
	case !l.loaded || l.letter.ID == "":
	case forth(key) || key == "r":
		m.openRepairs()
	case key == "s":
		m.confirm(fmt.Sprintf("send %s back as it is?", l.letter.ID), func() tea.Cmd {
			return m.start("sent back", m.desk.SendBack(m.ctx, m.target(), nil))
		})
	case key == "d":
		m.discard(m.target())
	}
	return nil
}

// discard asks why letters are given up, and then gives them up.
func (m *Model) discard(t Target) {
	what := t.ID
	if what == "" {
		what = fmt.Sprintf("ALL %d letters of the group", m.group().Dead)
	}
	m.ask("give up "+what+" for good, because", "", func(reason string) tea.Cmd {
		if reason == "" {
			m.say("nothing was done: a reason is needed")
			return nil
		}
		return m.start("given up", m.desk.Discard(m.ctx, t, reason))
	})
}
