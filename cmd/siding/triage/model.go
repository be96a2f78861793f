package triage

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/siding-dev/siding"
)

// screen is what is seen.
type screen int

const (
	onGroups screen = iota
	onLetters
	onLetter
	onRepairs
	onPreview
)

// Model is the page. It is a value for bubbletea, and for tests that feed it keys and read its screen.
type Model struct {
	ctx           context.Context //nolint:containedctx // of the program, for what is asked of the desk
	desk          Desk
	styled        bool
	width, height int

	screen   screen
	groups   groups
	letters  letters
	letter   letter
	repairs  repairs
	preview  preview
	prompt   *prompt
	running  *running
	help     bool
	helpList list
	status   string // what happened last
	failed   bool   // and it is an error
}

// New makes the page. styled says whether the terminal may be sent colours; without them a mark shows where the cursor is.
func New(ctx context.Context, desk Desk, styled bool) *Model {
	return &Model{ctx: ctx, desk: desk, styled: styled, width: 80, height: 24}
}

// Init asks for the groups.
func (m *Model) Init() tea.Cmd { return m.loadGroups() }

// Update takes news in: a key, a new size, or an answer of the desk.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.resized()
		return m, nil
	case tea.KeyPressMsg:
		return m, m.key(msg.String(), msg.Text)
	case tea.PasteMsg:
		if m.prompt != nil {
			m.prompt.add(msg.Content)
		}
		return m, nil
	case groupsMsg:
		m.gotGroups(msg)
	case rowsMsg:
		return m, m.gotRows(msg)
	case letterMsg:
		m.gotLetter(msg)
	case previewMsg:
		m.gotPreview(msg)
	case totalsMsg:
		return m, m.gotTotals(msg)
	case workMsg:
		return m, m.gotWork(msg)
	case doneMsg:
		return m, m.gotDone(msg)
	}
	return m, nil
}

// key obeys one key. text is what it would type.
func (m *Model) key(key, text string) tea.Cmd {
	switch {
	case key == "ctrl+c":
		return m.quit()
	case key == "ctrl+l":
		return tea.ClearScreen
	case m.help:
		if by, ok := step(key, len(helpLines), m.high()); ok {
			m.helpList.scroll(by, len(helpLines), m.high())
			return nil
		}
		m.help = false
		return nil
	case m.prompt != nil:
		return m.promptKey(key, text)
	case m.running != nil:
		return m.runningKey(key)
	}
	m.say("")
	switch key {
	case "q":
		return m.quit()
	case "?":
		m.help, m.helpList = true, list{}
		return nil
	}
	switch m.screen {
	case onGroups:
		return m.groupsKey(key)
	case onLetters:
		return m.lettersKey(key)
	case onLetter:
		return m.letterKey(key)
	case onRepairs:
		return m.repairsKey(key)
	}
	return m.previewKey(key)
}

// back tells whether a key leads to the screen before.
func back(key string) bool { return key == "esc" || key == "left" || key == "h" || key == "backspace" }

// forth tells whether a key leads into what is under the cursor.
func forth(key string) bool { return key == "enter" || key == "right" || key == "l" }

func (m *Model) quit() tea.Cmd {
	return tea.Sequence(m.closePages(), m.closeTotals(), m.closeRunning(), tea.Quit)
}

func (m *Model) say(text string)    { m.status, m.failed = text, false }
func (m *Model) sayError(err error) { m.status, m.failed = err.Error(), true }

// high is how many lines there are between the title and the last two lines.
func (m *Model) high() int { return max(m.height-3, 1) }

// resized keeps what is under the cursor in sight.
func (m *Model) resized() {
	m.groups.list.move(0, len(m.groups.shown), m.high())
	m.letters.list.move(0, len(m.letters.rows), m.high())
	m.repairs.list.move(0, len(m.repairs.options), m.high())
	m.letter.wrap(m.width)
	m.letter.list.scroll(0, len(m.letter.lines), m.high())
	m.preview.wrap(m.width)
	m.preview.list.scroll(0, len(m.preview.lines), m.high()-previewHead)
}

// group gives the group that is worked on.
func (m *Model) group() Group { return m.letters.group }

// target gives the letter that is worked on.
func (m *Model) target() Target { return Target{Key: m.group().Key, ID: m.letter.letter.ID} }

// doneMsg is the end of something small.
type doneMsg struct {
	text string
	err  error
}

func (m *Model) gotDone(msg doneMsg) tea.Cmd {
	if msg.err != nil {
		m.sayError(msg.err)
		return nil
	}
	m.say(msg.text)
	return m.loadGroups()
}

// mark asks how the group under the cursor is marked.
func (m *Model) mark(key siding.GroupKey) {
	m.ask("state: (n)ew, (k)nown, (r)esolved, (i)gnored, or note text", "", func(text string) tea.Cmd {
		state, note := siding.GroupState(""), text
		for _, s := range siding.GroupStates() {
			if text == string(s) || text == string(s[:1]) {
				state, note = s, ""
			}
		}
		if text == "" {
			return nil
		}
		return func() tea.Msg {
			what := "note kept"
			if state != "" {
				what = "marked as " + string(state)
			}
			return doneMsg{what, m.desk.Mark(m.ctx, key, state, note)}
		}
	})
}
