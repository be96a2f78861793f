package triage

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// letters is the list of the letters of a group, as far as it has been read: a group may have millions.
type letters struct {
	group   Group
	pages   Pages
	rows    []Row
	end     bool // there are no more
	loading bool
	list    list
	search  string // what is looked for while more is read; empty: nothing
	found   string // what was looked for last
	last    bool   // the cursor goes to the last row that comes
	asked   int
}

// pageRows is how many letters are read at once, keptRows how many are kept: further ones are found by other means.
const (
	pageRows = 200
	keptRows = 100_000
)

type rowsMsg struct {
	asked int
	rows  []Row
	err   error
}

func (m *Model) openLetters(g Group) tea.Cmd {
	done := m.closePages()
	m.letters = letters{group: g, asked: m.letters.asked + 1, pages: m.desk.Letters(m.ctx, g.Key)}
	m.screen = onLetters
	return tea.Batch(done, m.moreRows())
}

func (m *Model) closePages() tea.Cmd {
	pages := m.letters.pages
	m.letters.pages = nil
	if pages == nil {
		return nil
	}
	return func() tea.Msg {
		pages.Close()
		return nil
	}
}

// moreRows reads the next page, unless one is on its way or there is none.
func (m *Model) moreRows() tea.Cmd {
	l := &m.letters
	if l.loading || l.end || l.pages == nil {
		return nil
	}
	if len(l.rows) >= keptRows {
		m.say(fmt.Sprintf("only the first %d are listed; \"siding dlq list\" has them all", keptRows))
		return nil
	}
	l.loading = true
	asked, pages := l.asked, l.pages
	return func() tea.Msg {
		rows, err := pages.Next(pageRows)
		return rowsMsg{asked, rows, err}
	}
}

func (m *Model) gotRows(msg rowsMsg) tea.Cmd {
	l := &m.letters
	if msg.asked != l.asked {
		return nil
	}
	l.loading = false
	if msg.err != nil {
		l.end, l.search = true, ""
		m.sayError(msg.err)
	}
	from := len(l.rows)
	l.rows = append(l.rows, msg.rows...)
	l.end = l.end || len(msg.rows) < pageRows
	l.list.move(0, len(l.rows), m.high())
	if l.last {
		l.last = false
		l.list.jump(len(l.rows)-1, len(l.rows), m.high())
	}
	if l.search != "" {
		return m.find(from)
	}
	return m.readAhead()
}

// readAhead reads more before the cursor comes to the end.
func (m *Model) readAhead() tea.Cmd {
	if l := &m.letters; len(l.rows)-l.list.at < 2*m.high() {
		return m.moreRows()
	}
	return nil
}

// find looks for a text from a row on, in what there is and then in what is read further on.
func (m *Model) find(from int) tea.Cmd {
	l := &m.letters
	want := strings.ToLower(l.search)
	for i := from; i < len(l.rows); i++ {
		if strings.Contains(strings.ToLower(l.rows[i].ID+"\n"+l.rows[i].Text), want) {
			l.search = ""
			l.list.jump(i, len(l.rows), m.high())
			m.say("")
			return m.readAhead()
		}
	}
	more := m.moreRows()
	if more == nil && !l.loading {
		l.search = ""
		m.say("not found: " + l.found)
		return nil
	}
	m.say(fmt.Sprintf("searching, %d letters so far; Esc stops", len(l.rows)))
	return more
}

func (m *Model) lettersKey(key string) tea.Cmd {
	l := &m.letters
	if l.search != "" && key == "esc" {
		l.search = ""
		return nil
	}
	if by, ok := step(key, len(l.rows), m.high()); ok {
		l.list.move(by, len(l.rows), m.high())
		if key == "G" || key == "end" {
			l.last = !l.end
		}
		return m.readAhead()
	}
	switch {
	case back(key):
		m.screen = onGroups
		return tea.Batch(m.closePages(), m.loadGroups())
	case key == "/":
		m.ask("search for an ID or a text", "", func(text string) tea.Cmd {
			if text == "" {
				return nil
			}
			l.search, l.found = text, text
			return m.find(0)
		})
	case key == "n" && l.found != "":
		l.search = l.found
		return m.find(l.list.at + 1)
	case key == "R" || key == "ctrl+r":
		return m.openLetters(l.group)
	case key == "m":
		m.mark(l.group.Key)
	case len(l.rows) == 0:
	case forth(key):
		return m.openLetter(l.list.at)
	case key == "d":
		m.discard(Target{Key: l.group.Key, ID: l.rows[l.list.at].ID})
	case key == "D":
		m.discard(Target{Key: l.group.Key})
	}
	return nil
}
