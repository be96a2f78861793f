package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// repairFlags say how messages are mended before they are sent back.
type repairFlags struct {
	repairs []string
	recipe  string
	limit   int
}

// repairHelp says where the repairs are described.
const repairHelp = `A repair is a name, or a name, a colon and arguments, for instance strip-invalid-utf8, fix-json or
truncate:field=/description,max=2000,unit=chars. "siding dlq diagnose" names those that fit.`

// repairsShown is how many messages a person is shown unless --limit says otherwise.
const repairsShown = 10

func (f *repairFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.repairs, "repair", nil, "mend each message by this repair before it is sent back (may be given several times)")
	recipeFlag(cmd, &f.recipe)
	fl.IntVar(&f.limit, "limit", repairsShown, "with --repair: show at most this many messages (0: all; default with --json)")
	_ = cmd.RegisterFlagCompletionFunc("repair", cobra.FixedCompletions(quarantine.RepairNames(), cobra.ShellCompDirectiveNoFileComp))
}

// mender gives what mends messages; nil without --repair.
func (f *repairFlags) mender(cmd *cobra.Command) (*mender, error) {
	if err := checkLimit(f.limit); err != nil {
		return nil, err
	}
	limited := cmd.Flags().Changed("limit")
	if len(f.repairs) == 0 {
		if limited || f.recipe != "" {
			return nil, usagef("--limit and --recipe belong to --repair, and there is none")
		}
		return nil, nil //nolint:nilnil // none is asked for
	}
	r, err := quarantine.ParseRepairs(f.repairs)
	if err != nil {
		return nil, asUsage(err)
	}
	m := newMender(r)
	m.recipe, m.limit, m.limited = f.recipe, f.limit, limited
	return m, nil
}

// repairedLine is what repairs came to, in the last line of --json.
type repairedLine struct {
	Repairs     []string      `json:"repairs"`
	WouldChange int64         `json:"would_change"` // what was, or with --dry-run would be, sent back mended
	Unchanged   int64         `json:"unchanged"`    // nothing was there to mend: not sent back
	Invalid     int64         `json:"invalid"`      // a repair could not be applied, or gives nothing valid: not sent back
	Estimate    *estimateLine `json:"estimate"`     // with --dry-run; null where nothing is known
}

// previewLine is what repairs do to one message, with --json.
type previewLine struct {
	Type    string             `json:"type"` // preview
	V       int                `json:"v"`
	Queue   string             `json:"queue"`
	ID      string             `json:"id"`
	Verdict quarantine.Verdict `json:"verdict"` // changed, unchanged or invalid
	Problem string             `json:"problem"` // why it is invalid
	quarantine.Diff
}

// mender mends each message of a selection, and keeps what is to be sent until its turn comes.
type mender struct {
	repairs quarantine.Repairs
	recipe  string
	limit   int
	limited bool // --limit was given
	silent  bool // nothing is written

	desk    *desk
	dryRun  bool
	line    repairedLine
	shown   int
	returns map[messageKey]siding.Return
	bytes   int              // of their bodies
	queues  map[string]int64 // how many of each would be sent back, of those that may cost money
}

type messageKey struct{ queue, id string }

// returnBytes is how much is kept of bodies that wait to be sent in one write.
const returnBytes = 8 << 20

func newMender(r quarantine.Repairs) *mender {
	return &mender{repairs: r, line: repairedLine{Repairs: r.Texts()}, returns: map[messageKey]siding.Return{}, queues: map[string]int64{}}
}

func (m *mender) open(d *desk, dryRun bool) { m.desk, m.dryRun = d, dryRun }

// full tells whether what waits should be sent before more is taken.
func (m *mender) full() bool { return m != nil && m.bytes >= returnBytes }

// each mends one message and shows it; false: it is not sent back.
func (m *mender) each(ctx context.Context, l siding.Listed) (bool, error) {
	p, err := m.desk.preview(ctx, l.Message, m.repairs)
	if err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, errInterrupted // a repair that was cut is no verdict
	}
	switch p.Verdict {
	case quarantine.Changed:
		m.line.WouldChange++
		if f, _ := m.desk.factsOf(ctx, l.Queue); f.Settings || f.Check == nil { // else it asks no model, and costs nothing
			m.queues[l.Queue]++
		}
		if !m.dryRun {
			back := p.Return(l.ID, m.repairs)
			m.returns[messageKey{l.Queue, l.ID}] = back
			m.bytes += len(back.Body)
		}
	case quarantine.Unchanged:
		m.line.Unchanged++
	default:
		m.line.Invalid++
	}
	return p.Verdict == quarantine.Changed, m.show(l, p)
}

// show tells what became of one message: all of them on a dry run, else those that stay.
func (m *mender) show(l siding.Listed, p quarantine.Preview) error {
	if m.silent || !m.dryRun && p.Verdict == quarantine.Changed || m.limit > 0 && m.shown >= m.limit && (m.limited || !m.desk.json) {
		return nil
	}
	m.shown++
	if m.desk.json {
		line := previewLine{Type: "preview", V: 1, Queue: l.Queue, ID: l.ID, Verdict: p.Verdict, Problem: p.Problem}
		line.Diff = quarantine.Diff{Changes: []quarantine.Change{}}
		if p.Verdict == quarantine.Changed {
			line.Diff = quarantine.Compare(p.Before, p.After)
		}
		return writeJSON(m.desk.out, line)
	}
	to := m.desk.out
	if !m.dryRun {
		to = m.desk.err
	}
	_, err := fmt.Fprint(to, previewText(l, p, m.desk.colour(to)))
	return err
}

// send sends mended messages back, each where its body is still the one that was mended.
func (m *mender) send(ctx context.Context, s siding.Store, queue string, ids []string) ([]error, error) {
	back := make([]siding.Return, len(ids))
	for i, id := range ids {
		key := messageKey{queue, id}
		back[i] = m.returns[key]
		m.bytes -= len(back[i].Body)
		delete(m.returns, key)
	}
	return s.Return(ctx, queue, back...)
}

// end gives the totals.
func (m *mender) end(ctx context.Context) *repairedLine {
	if m.dryRun && len(m.queues) > 0 {
		e, err := estimate(context.WithoutCancel(ctx), m.desk, m.queues)
		if err != nil {
			m.desk.notef("what it would cost is not known: %v", err)
		}
		m.line.Estimate = e
	}
	return &m.line
}

// tell says the totals to a person.
func (m *mender) tell() {
	l := m.line
	var rest []string
	if l.Unchanged > 0 {
		rest = append(rest, fmt.Sprintf("%d unchanged", l.Unchanged))
	}
	if l.Invalid > 0 {
		rest = append(rest, fmt.Sprintf("%d invalid", l.Invalid))
	}
	if all := l.WouldChange + l.Unchanged + l.Invalid; m.limit > 0 && m.dryRun && all > int64(m.shown) {
		m.desk.notef("… and %s; --limit 0 shows all", counted(all-int64(m.shown), "more message"))
	}
	stay := ""
	if len(rest) > 0 {
		stay = "; " + strings.Join(rest, " and ") + ", which stay set aside"
	}
	switch {
	case !m.dryRun && stay != "":
		m.desk.notef("%s", strings.TrimPrefix(stay, "; "))
	case m.dryRun:
		m.desk.notef("%s would be mended and sent back%s", counted(l.WouldChange, "message"), stay)
		if len(m.queues) > 0 {
			m.desk.notef("%s", l.Estimate.text())
		}
	}
}

// previewText shows what repairs do to a message.
func previewText(l siding.Listed, p quarantine.Preview, colour bool) string {
	var b strings.Builder
	verdict := string(p.Verdict)
	if p.Verdict == quarantine.Invalid {
		verdict += ": " + oneLine(p.Problem, 400)
	}
	_, _ = fmt.Fprintf(&b, "%s in queue %s: %s\n", oneLine(l.ID, 200), oneLine(l.Queue, 100), verdict)
	if p.Verdict == quarantine.Changed {
		b.WriteString(diffText(quarantine.Compare(p.Before, p.After), colour))
	}
	return b.String()
}

// diffText shows what changes, place by place.
func diffText(d quarantine.Diff, colour bool) string {
	var b strings.Builder
	for _, c := range d.Changes {
		_, _ = fmt.Fprintf(&b, "  %s\n", oneLine(changePlace(c), 200))
		side := func(sign, code string, s *quarantine.Side) {
			switch {
			case s == nil:
			case colour:
				_, _ = fmt.Fprintf(&b, "  \x1b[%sm%s %s\x1b[7m%s\x1b[27m%s\x1b[0m\n", code, sign, inLine(s.Lead), inLine(s.Text), inLine(s.Tail))
			default:
				_, _ = fmt.Fprintf(&b, "  %s %s\n", sign, inLine(s.String()))
			}
		}
		side("-", "31", c.Old)
		side("+", "32", c.New)
	}
	if d.More > 0 {
		_, _ = fmt.Fprintf(&b, "  … and %s\n", counted(int64(d.More), "more change"))
	}
	return b.String()
}

// changePlace says where something changes.
func changePlace(c quarantine.Change) string {
	switch {
	case c.Header != "":
		return "header " + c.Header
	case c.Pointer != nil && *c.Pointer == "":
		return "the whole body"
	case c.Pointer != nil:
		return *c.Pointer
	case c.Offset != nil && c.Line > 0:
		return fmt.Sprintf("line %d, byte %d", c.Line, *c.Offset)
	case c.Offset != nil:
		return fmt.Sprintf("byte %d", *c.Offset)
	}
	return "the body"
}

// inLine makes a text safe for one line, and keeps its spaces.
func inLine(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(siding.Scrub(s, max(256, 8*len(s))))
}
