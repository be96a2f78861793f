package triage

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/siding-dev/siding"
)

// View draws the page on the whole terminal.
func (m *Model) View() tea.View {
	v := tea.NewView(strings.Join(m.Screen(), "\n"))
	v.AltScreen = true
	return v
}

// The looks of parts of the page, as parameters of the escape sequence SGR.
const (
	lookTitle  = "1"
	lookCursor = "7"
	lookHelp   = "2"
	lookError  = "1;31"
	lookOld    = "31"
	lookNew    = "32"
	lookAlarm  = "1;33"
)

// look styles a text that is safe already.
func (m *Model) look(code, text string) string {
	if !m.styled || code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Screen gives the lines of the page, as many as the terminal has, each at most as wide.
func (m *Model) Screen() []string {
	var title string
	var body []string
	switch {
	case m.help:
		title = "keys"
		for _, line := range helpLines[min(m.helpList.top, len(helpLines)):] {
			body = append(body, cell(line, m.width))
		}
	case m.screen == onGroups:
		title, body = m.groupsView()
	case m.screen == onLetters:
		title, body = m.lettersView()
	case m.screen == onLetter:
		title, body = m.letterView()
	case m.screen == onRepairs:
		title, body = m.repairsView()
	default:
		title, body = m.previewView()
	}
	lines := []string{m.look(lookTitle, cell(title, m.width))}
	lines = append(lines, body[:min(len(body), m.high())]...)
	for len(lines) < m.high()+1 {
		lines = append(lines, "")
	}
	lines = append(lines, m.statusLine(), m.look(lookHelp, cell(m.keysLine(), m.width)))
	return lines[max(0, len(lines)-max(m.height, 1)):]
}

func (m *Model) statusLine() string {
	switch {
	case m.prompt != nil:
		return m.promptLine()
	case m.running != nil:
		text := m.running.text() + "… Esc stops"
		if m.running.stopping {
			text = m.running.text() + ", stopping…"
		}
		return cell(text, m.width)
	case m.failed:
		return m.look(lookError, cell("error: "+m.status, m.width))
	}
	return cell(m.status, m.width)
}

// promptLine shows the end of what is typed, and as much of the label as there is room for.
func (m *Model) promptLine() string {
	const least = 10 // columns for what is typed
	label := cell(m.prompt.label, max(m.width-least-2, 0)) + ": "
	room := max(m.width-len([]rune(label))-1, 1)
	typed := m.prompt.text
	return cell(label+string(typed[max(0, len(typed)-room):])+"▏", m.width)
}

// row gives a line of a list, with the cursor or without.
func (m *Model) row(text string, under bool) string {
	mark := "  "
	if under {
		mark = "> "
	}
	if under && m.styled {
		return m.look(lookCursor, pad(mark+text, m.width))
	}
	return cell(mark+text, m.width)
}

// rows gives the lines of a list that are seen.
func (m *Model) rows(l list, n int, text func(i int) string) []string {
	var lines []string
	for i := l.top; i < min(n, l.top+m.high()); i++ {
		lines = append(lines, m.row(text(i), i == l.at))
	}
	return lines
}

// column widths of the list of groups.
const (
	wide   = 100
	middle = 60
)

func (m *Model) groupsView() (string, []string) {
	g := &m.groups
	var dead int64
	for _, each := range g.all {
		dead += each.Dead
	}
	title := fmt.Sprintf("siding: %d set aside in %s", dead, counted(len(g.all), "group"))
	if g.search != "" {
		title += fmt.Sprintf(", %d with %q (Esc: all)", len(g.shown), g.search)
	}
	switch {
	case !g.loaded:
		return title, []string{cell("  reading…", m.width)}
	case len(g.all) == 0:
		return title, []string{cell("  nothing is set aside", m.width)}
	}
	return title, m.rows(g.list, len(g.shown), func(i int) string { return m.groupText(g.all[g.shown[i]]) })
}

// counted gives "1 group", "2 groups".
func counted(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

func (m *Model) groupText(g Group) string {
	state := string(g.State)
	if !g.RegressedAt.IsZero() {
		state = "REGRESSION"
	}
	dead := fmt.Sprintf("%6d ", g.Dead)
	text := g.SampleText
	if g.Note != "" {
		text = "[" + g.Note + "] " + text
	}
	switch {
	case m.width >= wide:
		return dead + pad(string(g.Cause), 18) + " " + pad(state, 10) + " " + pad(g.Trend, 8) + " " + pad(shortTime(g.LastSeen), 16) + " " +
			pad(g.Key.Queue, 16) + " " + text
	case m.width >= middle:
		return dead + pad(string(g.Cause), 16) + " " + pad(state, 10) + " " + text
	case !g.RegressedAt.IsZero():
		return dead + "! " + string(g.Cause) + " " + text
	}
	return dead + string(g.Cause) + " " + text
}

func shortTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// groupTitle names the group at hand.
func (m *Model) groupTitle() string {
	g := m.group()
	return fmt.Sprintf("%s in %s, %d set aside, %s", g.Cause, g.Key.Queue, g.Dead, g.State)
}

func (m *Model) lettersView() (string, []string) {
	l := &m.letters
	title := m.groupTitle()
	switch {
	case len(l.rows) == 0 && l.end:
		return title, []string{cell("  nothing is left in this group", m.width)}
	case len(l.rows) == 0:
		return title, []string{cell("  reading…", m.width)}
	}
	return title, m.rows(l.list, len(l.rows), func(i int) string {
		r := l.rows[i]
		if m.width < middle {
			return r.ID
		}
		return pad(r.ID, m.width/4) + " " + pad(shortTime(r.DeadAt), 16) + " " + r.Text
	})
}

func (m *Model) letterView() (string, []string) {
	l := &m.letter
	title := l.letter.ID + " in " + l.letter.Queue
	if !l.loaded {
		return title, []string{cell("  reading…", m.width)}
	}
	return title, m.seen(l.lines, l.list, m.high())
}

// seen gives the lines of a text that are seen, each made safe before, with the old and the new of a diff told apart.
func (m *Model) seen(lines []string, l list, high int) []string {
	var out []string
	for i := l.top; i < min(len(lines), l.top+high); i++ {
		line := cell(lines[i], m.width)
		switch {
		case strings.HasPrefix(line, "  - "):
			line = m.look(lookOld, line)
		case strings.HasPrefix(line, "  + "):
			line = m.look(lookNew, line)
		case strings.HasPrefix(line, "  * "):
			line = m.look(lookAlarm, line)
		}
		out = append(out, line)
	}
	return out
}

func (m *Model) repairsView() (string, []string) {
	r := &m.repairs
	return "mend " + m.letter.letter.ID, m.rows(r.list, len(r.options), func(i int) string { return r.options[i].text })
}

// previewHead is how many lines stand above what changes.
const previewHead = 2

func (m *Model) previewView() (string, []string) {
	p := &m.preview
	title := m.letter.letter.ID + ": " + strings.Join(p.repairs, " + ")
	if !p.loaded {
		return title, []string{cell("  reading…", m.width)}
	}
	lines := []string{cell(m.totalsText(), m.width), m.look(lookTitle, cell("this one: "+p.preview.Verdict, m.width))}
	return title, append(lines, m.seen(p.lines, p.list, m.high()-previewHead)...)
}

// keysLine names the keys of the screen.
func (m *Model) keysLine() string {
	switch {
	case m.help:
		return "any other key: back"
	case m.prompt != nil:
		return "Enter: do it   Esc: leave it"
	case m.running != nil:
		return "Esc: stop"
	}
	switch m.screen {
	case onGroups:
		return "Enter: letters  /: search  m: mark  R: again  ?: keys  q: quit"
	case onLetters:
		return "Enter: look  /: search  n: next match  d/D: discard one/all  m: mark  Esc: back  ?: keys"
	case onLetter:
		return "Enter: mend  s: send back as it is  d: discard  n/p: next, previous  Esc: back  ?: keys"
	case onRepairs:
		return "Enter: preview  t: type one  e: change it  Esc: back  ?: keys"
	}
	return "Enter: this one  a: the group  c: campaign  n/p: next, previous  Esc: back  ?: keys"
}

var helpLines = []string{
	"up down j k        move",
	"PgUp PgDn space    a page",
	"g G Home End       first, last",
	"Enter right l      into it",
	"Esc left h         back",
	"/                  search; n: the next match",
	"m                  mark the group: " + groupStates(),
	"r                  choose a repair for the letter",
	"s                  send the letter back as it is",
	"d                  give the letter up, for a reason",
	"D                  give the whole group up, for a reason",
	"in a preview:",
	"Enter              mend this one and send it back",
	"a                  mend and send back the whole group",
	"c                  the group as a campaign with a canary",
	"n p                the same repair on the next letter",
	"R                  read again",
	"Ctrl-L             draw again",
	"q Ctrl-C           quit",
}

func groupStates() string {
	var names []string
	for _, s := range siding.GroupStates() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}
