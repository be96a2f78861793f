package triage

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// groups is the list of groups, those that hold what is searched for.
type groups struct {
	all    []Group
	shown  []int // places in all
	search string
	list   list
	loaded bool
	asked  int // how often they were asked for: an older answer is not taken
}

type groupsMsg struct {
	asked  int
	groups []Group
	err    error
}

func (m *Model) loadGroups() tea.Cmd {
	m.groups.asked++
	asked := m.groups.asked
	return func() tea.Msg {
		list, err := m.desk.Groups(m.ctx)
		return groupsMsg{asked, list, err}
	}
}

func (m *Model) gotGroups(msg groupsMsg) {
	if msg.asked != m.groups.asked {
		return
	}
	if m.groups.loaded = true; msg.err != nil {
		m.sayError(msg.err)
		return
	}
	m.groups.all = msg.groups
	for _, g := range msg.groups { // what is worked on stays the same group
		if g.Key == m.letters.group.Key {
			m.letters.group = g
		}
	}
	m.filterGroups()
}

func (m *Model) filterGroups() {
	g := &m.groups
	g.shown = g.shown[:0]
	for i, each := range g.all {
		text := strings.ToLower(strings.Join([]string{each.SampleText, string(each.Cause), each.Key.Fingerprint, each.Key.Queue, each.Note, string(each.State)}, "\n"))
		if strings.Contains(text, strings.ToLower(g.search)) {
			g.shown = append(g.shown, i)
		}
	}
	g.list.move(0, len(g.shown), m.high())
}

func (m *Model) groupsKey(key string) tea.Cmd {
	g := &m.groups
	if by, ok := step(key, len(g.shown), m.high()); ok {
		g.list.move(by, len(g.shown), m.high())
		return nil
	}
	switch key {
	case "R", "ctrl+r":
		return m.loadGroups()
	case "/":
		m.ask("search", g.search, func(text string) tea.Cmd {
			g.search = text
			g.list = list{}
			m.filterGroups()
			return nil
		})
		return nil
	case "esc":
		g.search = ""
		m.filterGroups()
		return nil
	}
	if len(g.shown) == 0 {
		return nil
	}
	under := g.all[g.shown[g.list.at]]
	switch {
	case forth(key):
		return m.openLetters(under)
	case key == "m":
		m.mark(under.Key)
	}
	return nil
}
