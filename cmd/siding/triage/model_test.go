package triage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/cmd/siding/triage"
)

// fakeDesk is a desk with groups of numbered letters, and a memory of what was asked of it.
type fakeDesk struct {
	groups []triage.Group
	n      int // letters in each group
	read   int // letters that were read from the store
	open   int // pages and works that are not closed
	did    []string
	fail   error
	text   string // the text of each letter
}

func (d *fakeDesk) Groups(context.Context) ([]triage.Group, error) {
	return slices.Clone(d.groups), d.fail
}

type fakePages struct {
	d  *fakeDesk
	at int
}

func (p *fakePages) Next(n int) ([]triage.Row, error) {
	if p.d.fail != nil {
		return nil, p.d.fail
	}
	var rows []triage.Row
	for ; len(rows) < n && p.at < p.d.n; p.at++ {
		p.d.read++
		rows = append(rows, triage.Row{ID: fmt.Sprintf("e%07d", p.at), DeadAt: time.Unix(0, 0), Text: p.d.text})
	}
	return rows, nil
}

func (p *fakePages) Close() { p.d.open-- }

func (d *fakeDesk) Letters(context.Context, siding.GroupKey) triage.Pages {
	d.open++
	return &fakePages{d: d}
}

func (d *fakeDesk) Letter(_ context.Context, queue, id string) (triage.Letter, error) {
	return triage.Letter{
		Row: triage.Row{ID: id}, Queue: queue, Lines: []string{"all of " + id, d.text},
		Suggested: []string{"fix-json"}, Others: []string{"fix-json", "drop:field=/x"},
	}, d.fail
}

func (d *fakeDesk) CheckRepair(text string) error {
	if strings.HasPrefix(text, "no-such") {
		return errors.New("no such repair")
	}
	return nil
}

func (d *fakeDesk) Preview(_ context.Context, _, id string, repairs []string) (triage.Preview, error) {
	return triage.Preview{Verdict: "changed", Lines: []string{"  /title", "  - old " + id, "  + new by " + strings.Join(repairs, ",")}}, d.fail
}

type fakeWork struct {
	d     *fakeDesk
	steps int
	c     triage.Counts
}

func (w *fakeWork) Next(context.Context) (triage.Counts, bool, error) {
	if w.d.fail != nil {
		return w.c, false, w.d.fail
	}
	w.steps--
	w.c.Seen, w.c.Changed = w.c.Seen+1, w.c.Changed+1
	return w.c, w.steps > 0, nil
}

func (w *fakeWork) Close() { w.d.open-- }

func (d *fakeDesk) work(format string, args ...any) triage.Work {
	d.open++
	d.did = append(d.did, fmt.Sprintf(format, args...))
	return &fakeWork{d: d, steps: 3}
}

func (d *fakeDesk) Totals(_ context.Context, key siding.GroupKey, repairs []string) triage.Work {
	return d.work("totals %s %v", key.Fingerprint, repairs)
}

func (d *fakeDesk) SendBack(_ context.Context, t triage.Target, repairs []string) triage.Work {
	return d.work("send %s %q %v", t.Key.Fingerprint, t.ID, repairs)
}

func (d *fakeDesk) Discard(_ context.Context, t triage.Target, reason string) triage.Work {
	return d.work("discard %s %q %s", t.Key.Fingerprint, t.ID, reason)
}

func (d *fakeDesk) Campaign(_ context.Context, key siding.GroupKey, repairs []string, canary int64) (string, error) {
	d.did = append(d.did, fmt.Sprintf("campaign %s %v %d", key.Fingerprint, repairs, canary))
	return "campaign 1 begins", d.fail
}

func (d *fakeDesk) Mark(_ context.Context, key siding.GroupKey, state siding.GroupState, note string) error {
	d.did = append(d.did, fmt.Sprintf("mark %s %q %q", key.Fingerprint, state, note))
	return d.fail
}

// page feeds a model and reads its screen.
type page struct {
	t     *testing.T
	m     tea.Model
	model *triage.Model
	quit  bool
	lazy  bool // answers of the desk wait
	queue []tea.Cmd
}

func newPage(t *testing.T, d *fakeDesk, width, height int) *page {
	t.Helper()
	m := triage.New(t.Context(), d, false)
	p := &page{t: t, m: m, model: m}
	p.send(tea.WindowSizeMsg{Width: width, Height: height})
	p.run(m.Init())
	return p
}

func (p *page) send(msg tea.Msg) {
	_, cmd := p.m.Update(msg)
	p.run(cmd)
}

// run carries out what the model asks for, as the program around it does.
func (p *page) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if p.lazy {
		p.queue = append(p.queue, cmd)
		return
	}
	p.take(cmd())
}

func (p *page) take(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
	case tea.QuitMsg:
		p.quit = true
	case tea.BatchMsg:
		for _, c := range msg {
			p.run(c)
		}
	default:
		if cmds, ok := sequence(msg); ok {
			for _, c := range cmds {
				p.run(c)
			}
			return
		}
		p.send(msg)
	}
}

// keys presses keys: names in <>, and characters.
func (p *page) keys(text string) {
	p.t.Helper()
	for text != "" {
		if strings.HasPrefix(text, "<") {
			name, rest, _ := strings.Cut(text[1:], ">")
			text = rest
			p.send(named(name))
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		p.send(tea.KeyPressMsg{Code: r, Text: string(r)})
	}
}

func named(name string) tea.KeyPressMsg {
	switch name {
	case "enter":
		return tea.KeyPressMsg{Code: tea.KeyEnter}
	case "esc":
		return tea.KeyPressMsg{Code: tea.KeyEscape}
	case "down":
		return tea.KeyPressMsg{Code: tea.KeyDown}
	case "end":
		return tea.KeyPressMsg{Code: tea.KeyEnd}
	case "backspace":
		return tea.KeyPressMsg{Code: tea.KeyBackspace}
	case "ctrl+c":
		return tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl}
	}
	panic("no such key: " + name)
}

func (p *page) screen() string { return strings.Join(p.model.Screen(), "\n") }

func group(fingerprint string, cause siding.Cause, dead int64, text string) triage.Group {
	return triage.Group{Group: siding.Group{
		Key: siding.GroupKey{Queue: "tags", Fingerprint: fingerprint}, Cause: cause, State: siding.GroupNew, Dead: dead, SampleText: text,
	}, Trend: "steady"}
}

func twoGroups() *fakeDesk {
	return &fakeDesk{n: 3, groups: []triage.Group{
		group("2-aa", siding.CauseInvalidJSON, 3, "unexpected end"), group("2-bb", siding.CauseRefused, 1, "declined"),
	}}
}

func TestWorkingThroughAGroup(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	p := newPage(t, d, 80, 12)
	require.Equal(t, strings.TrimLeft(`
siding: 4 set aside in 2 groups
>      3 invalid-json     new        unexpected end
       1 refused          new        declined








Enter: letters  /: search  m: mark  R: again  ?: keys  q: quit`, "\n"), p.screen())

	p.keys("<enter>")
	require.Contains(t, p.screen(), "invalid-json in tags, 3 set aside, new\n> e0000000")
	p.keys("j<enter>")
	require.Contains(t, p.screen(), "e0000001 in tags\nall of e0000001")
	p.keys("n")
	require.Contains(t, p.screen(), "all of e0000002")
	p.keys("r")
	require.Contains(t, p.screen(), "mend e0000002\n> fix-json   (mends it)\n  drop:field=/x\n  type one…")
	p.keys("<enter>")
	require.Contains(t, p.screen(), "e0000002: fix-json\nthe group: of 3: 3 would change, 0 unchanged, 0 invalid\nthis one: changed\n  /title\n  - old e0000002\n  + new by fix-json")
	p.keys("p")
	require.Contains(t, p.screen(), "- old e0000001")
	p.keys("<enter>")
	require.Contains(t, p.screen(), "mend e0000001 and send it back? (y/n)")
	p.keys("n<enter>")
	require.Contains(t, p.screen(), "nothing was done")
	p.keys("<enter>y<enter>")
	require.Equal(t, `send 2-aa "e0000001" [fix-json]`, d.did[len(d.did)-1])
	require.Contains(t, p.screen(), "3 sent back")
	require.Contains(t, p.screen(), "> e000000", "the list of the group is seen again")

	p.keys("<enter>r<enter>ay<enter>")
	require.Equal(t, `send 2-aa "" [fix-json]`, d.did[len(d.did)-1])
	p.keys("<enter>r<enter>c<backspace><backspace>25<enter>")
	require.Equal(t, `campaign 2-aa [fix-json] 25`, d.did[len(d.did)-1])
	require.Contains(t, p.screen(), "campaign 1 begins")
	p.keys("<esc><esc>s<backspace>")
	require.Contains(t, p.screen(), "as it is?")
	p.keys("y<enter>")
	require.Contains(t, d.did[len(d.did)-1], `[]`)
	p.keys("Dtoo old<enter>")
	require.Equal(t, `discard 2-aa "" too old`, d.did[len(d.did)-1])
	p.keys("d<enter>")
	require.Contains(t, p.screen(), "a reason is needed")
	p.keys("q")
	require.True(t, p.quit)
	require.Zero(t, d.open, "all that was opened is closed")
}

func TestChoosingOtherThanWhatIsSuggested(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	p := newPage(t, d, 80, 12)
	p.keys("<enter><enter>rt")
	p.keys("no-such<enter>")
	require.Contains(t, p.screen(), "error: no such repair")
	p.keys("tfix-json + truncate:field=/a,max=3<enter>")
	require.Contains(t, p.screen(), "e0000000: fix-json + truncate:field=/a,max=3")
	p.keys("<esc>je<backspace>y<enter>")
	require.Contains(t, p.screen(), "drop:field=/y")
	require.Contains(t, d.did[len(d.did)-1], "totals 2-aa [drop:field=/y]")
	p.keys("<ctrl+c>")
	require.True(t, p.quit)
	require.Zero(t, d.open)
}

func TestMarkingAndSearching(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	p := newPage(t, d, 100, 10)
	p.keys("/decl<enter>")
	require.Contains(t, p.screen(), `1 with "decl"`)
	require.NotContains(t, p.screen(), "invalid-json")
	p.keys("mr<enter>")
	require.Equal(t, `mark 2-bb "resolved" ""`, d.did[0])
	p.keys("msee ticket 7<enter>")
	require.Equal(t, `mark 2-bb "" "see ticket 7"`, d.did[1])
	p.keys("<esc>")
	require.Contains(t, p.screen(), "invalid-json")
	p.keys("?")
	require.Contains(t, p.screen(), "any other key: back")
	p.keys("G")
	require.Contains(t, p.screen(), "quit")
	p.keys("x/nowhere<enter><enter>")
	require.Contains(t, p.screen(), `0 with "nowhere"`)
}

func TestAMillionLettersAreNeverReadAtOnce(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	d.n = 1_000_000
	p := newPage(t, d, 80, 24)
	p.keys("<enter>")
	require.LessOrEqual(t, d.read, 200)
	p.keys("<end>")
	require.LessOrEqual(t, d.read, 600)
	p.keys("G")
	require.LessOrEqual(t, d.read, 1000)
	p.keys("/e0001234<enter>")
	require.Contains(t, p.screen(), "> e0001234")
	require.LessOrEqual(t, d.read, 1800)
	p.keys("/nowhere<enter>")
	require.LessOrEqual(t, d.read, 100_200, "a search ends")
	require.Contains(t, p.screen(), "not found: nowhere")
}

func TestASearchCanBeStopped(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	d.n = 1_000_000
	p := newPage(t, d, 80, 24)
	p.keys("<enter>")
	p.lazy = true
	p.keys("/nowhere<enter>")
	require.Contains(t, p.screen(), "searching, 200 letters so far; Esc stops")
	p.keys("<esc>")
	p.lazy = false
	for _, c := range p.queue {
		p.take(c())
	}
	require.Less(t, d.read, 1000)
}

func TestWorkCanBeStoppedBetweenItsSteps(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	p := newPage(t, d, 80, 12)
	p.keys("<enter>Dold<backspace>d")
	p.lazy = true
	p.keys("<enter>")
	require.Contains(t, p.screen(), "0 given up… Esc stops")
	p.keys("<esc>")
	require.Contains(t, p.screen(), "stopping")
	p.lazy = false
	for _, c := range p.queue {
		p.take(c())
	}
	require.Contains(t, p.screen(), "stopped: 1 given up")
	p.keys("q")
	require.Zero(t, d.open)
}

func TestErrorsOfTheStoreAreShownAndTheWorkGoesOn(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	p := newPage(t, d, 80, 12)
	d.fail = errors.New("disk full \x1b[2J")
	for _, keys := range []string{"R", "<enter>", "<enter>", "R", "<esc>", "mk<enter>"} {
		p.keys(keys)
		require.NotContains(t, p.screen(), "\x1b")
	}
	require.Contains(t, p.screen(), `error: disk full \x1b[2J`)
	d.fail = nil
	p.keys("R<enter><enter>")
	require.Contains(t, p.screen(), "all of e0000000")
	d.fail = errors.New("disk full")
	p.keys("r<enter>ay<enter>")
	require.Contains(t, p.screen(), "error:")
	p.keys("q")
	require.True(t, p.quit)
	require.Zero(t, d.open)
}

func TestEveryScreenFitsEveryTerminal(t *testing.T) {
	t.Parallel()
	hostile := "\x1b]0;owned\x07\x1b[2J\r\n\t世界世界世界 \u202eevil\u200b\u200f e" + strings.Repeat("\u0301", 5000) + "👩‍👩‍👧‍👦 \xff\x00\u009b31m" + strings.Repeat("x", 100_000)
	for _, styled := range []bool{false, true} {
		for _, size := range [][2]int{{40, 12}, {1, 1}, {7, 3}, {80, 24}, {300, 100}, {40, 4}} {
			t.Run(fmt.Sprint(styled, size), func(t *testing.T) {
				t.Parallel()
				d := &fakeDesk{n: 500, text: hostile, groups: []triage.Group{group("2-aa", siding.Cause(hostile), 500, hostile)}}
				d.groups[0].Key.Queue, d.groups[0].Note, d.groups[0].RegressedAt = hostile, hostile, time.Unix(1, 0)
				m := triage.New(t.Context(), d, styled)
				p := &page{t: t, m: m, model: m}
				p.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				p.run(m.Init())
				for _, keys := range []string{"", "<enter>", "<end>", "<enter>", "j", "r", "<enter>", "a", hostile, "<esc>", "?", "x", "<esc>", "t"} {
					if keys == hostile {
						p.send(tea.PasteMsg{Content: hostile})
					} else {
						p.keys(keys)
					}
					for _, line := range m.Screen() {
						require.LessOrEqual(t, ansi.StringWidth(line), size[0], "%q", line)
						require.LessOrEqual(t, len(line), 40*size[0]+100, "no line is longer than it seems")
						safe := ansiStyles.ReplaceAllString(line, "")
						if !styled {
							safe = line
						}
						require.Equal(t, siding.Scrub(safe, 1<<20), safe)
						require.NotContains(t, safe, "\n")
					}
					require.Len(t, m.Screen(), size[1])
				}
				p.send(tea.WindowSizeMsg{Width: 30, Height: 5})
				require.Len(t, m.Screen(), 5)
			})
		}
	}
}

func TestAnAnswerThatComesLateIsNotTaken(t *testing.T) {
	t.Parallel()
	d := twoGroups()
	p := newPage(t, d, 80, 12)
	p.lazy = true
	p.keys("<enter>")
	first := p.queue
	p.queue = nil
	p.keys("<esc>j<enter>")
	second := p.queue
	p.lazy = false
	for _, c := range slices.Concat(second, first) {
		p.take(c())
	}
	require.Contains(t, p.screen(), "refused in tags")
	require.Equal(t, 3, strings.Count(p.screen(), " e000")+strings.Count(p.screen(), "\ne000"), p.screen())
}
