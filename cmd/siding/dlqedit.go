package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// editFlags say how one dead letter is changed by hand.
type editFlags struct {
	queue, file, recipe string
	stdin, dryRun       bool
	force               bool
	setHeaders          []string
	unsetHeaders        []string
}

func (a *app) dlqEditCommand() *cobra.Command {
	var f editFlags
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Change one dead letter by hand, and send it back",
		Long: "Edit opens the body in $VISUAL or $EDITOR, or takes it from a file or from standard input, shows what changes, and sends\n" +
			"the message back with it. The body as it was stays in the history; the event ID does not change. Nothing is sent back\n" +
			"when nothing was changed, when the result is not valid, or when the message was changed or sent back meanwhile.",
		Example: example("siding dlq edit img-0412", "siding dlq edit img-0412 --file mended.json",
			"siding dlq edit img-0412 --set-header siding-max-tokens=4096"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return a.edit(cmd.Context(), args[0], f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.queue, "queue", "", "the message's queue; needed where several queues have the ID")
	fl.StringVar(&f.file, "file", "", "take the new body from this file")
	fl.BoolVar(&f.stdin, "stdin", false, "take the new body from standard input")
	fl.StringArrayVar(&f.setHeaders, "set-header", nil, "set a header, as NAME=VALUE (may be given several times); without --file or --stdin the body stays")
	fl.StringArrayVar(&f.unsetHeaders, "unset-header", nil, "remove a header")
	fl.BoolVar(&f.dryRun, "dry-run", false, "only show what would change")
	fl.BoolVar(&f.force, "force", false, "send it back although it is not valid")
	recipeFlag(cmd, &f.recipe)
	return cmd
}

func (f editFlags) check() error {
	if f.file != "" && f.stdin {
		return usagef("--file and --stdin contradict each other; give one of them")
	}
	for _, h := range f.setHeaders {
		if name, _, ok := strings.Cut(h, "="); !ok || name == "" {
			return usagef("--set-header %q is none; give NAME=VALUE", siding.Scrub(name, 64))
		}
	}
	return nil
}

// editor tells whether the body is changed in an editor: no flag says otherwise.
func (f editFlags) editor() bool {
	return f.file == "" && !f.stdin && len(f.setHeaders) == 0 && len(f.unsetHeaders) == 0
}

// byHand is a change that an operator has made.
type byHand struct {
	wrote bool // body is new
	body  []byte
	set   map[string]string
	unset []string
}

// String is the note in the history.
func (byHand) String() string { return "edited by hand" }

// Apply makes the change.
func (h byHand) Apply(_ context.Context, d quarantine.Draft) (quarantine.Draft, error) {
	if h.wrote {
		d.Body = h.body
	}
	if len(h.set) > 0 || len(h.unset) > 0 {
		headers := maps.Clone(d.Headers)
		if headers == nil {
			headers = map[string]string{}
		}
		maps.Copy(headers, h.set)
		for _, name := range h.unset {
			delete(headers, name)
		}
		d.Headers = headers
	}
	return d, nil
}

// editedLine is what became of an edited message, with --json.
type editedLine struct {
	previewLine
	Sent bool `json:"sent"`
}

func (a *app) edit(ctx context.Context, id string, f editFlags) error {
	m, d, err := a.readForEdit(ctx, id, f)
	if err != nil {
		return storeError(err)
	}
	var p quarantine.Preview
	var change byHand
	text := m.Body
	for {
		if change, err = a.changeByHand(ctx, m, text, f); err != nil {
			return err
		}
		p = quarantine.Repairs{change}.Preview(ctx, m, d)
		if p.Verdict != quarantine.Invalid || f.force || !f.editor() || !a.again(p.Problem) {
			break
		}
		text = change.body
	}
	sends := p.Verdict == quarantine.Changed || p.Verdict == quarantine.Invalid && f.force
	if err := a.showEdit(m, p, sends && !f.dryRun); err != nil {
		return err
	}
	switch {
	case p.Verdict == quarantine.Unchanged:
		return fmt.Errorf("message %q: nothing was changed, so nothing was sent back", id)
	case !sends:
		return fmt.Errorf("message %q: it would not be valid, so it was not sent back (--force sends it): %s", id, p.Problem)
	case f.dryRun:
		return nil
	}
	store, path, err := a.openWriting(ctx)
	if err != nil {
		return err
	}
	defer closing(store)
	errs, err := store.Return(ctx, m.Queue, p.Return(m.ID, quarantine.Repairs{change}))
	if err = errors.Join(append(errs, err)...); err != nil {
		if errors.Is(err, siding.ErrConflict) || errors.Is(err, siding.ErrWrongState) {
			return fmt.Errorf("message %q was changed or sent back by somebody else meanwhile; nothing was done: %w", id, err)
		}
		return storeError(err)
	}
	a.hintf("%s in queue %s is sent back; the next run or work works on it (siding show%s --queue %s %s)", id, m.Queue,
		a.storeFlag(path), shellQuote(m.Queue), shellQuote(m.ID))
	return nil
}

// readForEdit gives the dead letter, and what its recipe knows. The store is closed while a person thinks.
func (a *app) readForEdit(ctx context.Context, id string, f editFlags) (siding.Message, quarantine.Facts, error) {
	store, _, err := a.openReading(ctx)
	if err != nil {
		return siding.Message{}, quarantine.Facts{}, err
	}
	defer closing(store)
	rec, err := findRecord(ctx, store, f.queue, id, []siding.State{siding.StateDead})
	if err != nil {
		return siding.Message{}, quarantine.Facts{}, err
	}
	if rec.NoBody {
		return siding.Message{}, quarantine.Facts{}, fmt.Errorf("message %q: %w; enqueue the same record again", id, siding.ErrNoBody)
	}
	facts, err := a.factsFor(ctx, store, rec.Queue, f.recipe)
	return rec.Message, facts, err
}

// changeByHand gets the change from where the flags say; text is what the editor shows.
func (a *app) changeByHand(ctx context.Context, m siding.Message, text []byte, f editFlags) (h byHand, err error) {
	h = byHand{set: map[string]string{}, unset: f.unsetHeaders}
	for _, header := range f.setHeaders {
		name, value, _ := strings.Cut(header, "=")
		h.set[name] = value
	}
	switch {
	case f.editor():
		if h.body, err = a.inEditor(ctx, m, text); err != nil {
			return h, err
		}
		// Many editors end a file with a newline that nobody has typed.
		if end, ok := bytes.CutSuffix(h.body, []byte("\n")); ok && !bytes.HasSuffix(m.Body, []byte("\n")) {
			h.body = end
		}
	case f.file != "":
		file, err := os.Open(f.file)
		if err != nil {
			return h, asUsage(err)
		}
		defer closing(file)
		if h.body, err = readBody(file); err != nil {
			return h, fmt.Errorf("%s: %w", f.file, err)
		}
	case f.stdin:
		if h.body, err = readBody(a.in); err != nil {
			return h, fmt.Errorf("standard input: %w", err)
		}
	default:
		return h, nil
	}
	h.wrote = true
	return h, nil
}

// editBytes is the longest body that can be edited: longer ones are not taken in either.
const editBytes = 32 << 20

// readBody reads a body. It is never nil.
func readBody(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, editBytes+1))
	if err == nil && len(b) > editBytes {
		err = fmt.Errorf("it is longer than a body may be, %d bytes", editBytes)
	}
	return append([]byte{}, b...), err
}

func (a *app) showEdit(m siding.Message, p quarantine.Preview, sent bool) error {
	if a.json {
		line := editedLine{previewLine{Type: "edited", V: 1, Queue: m.Queue, ID: m.ID, Verdict: p.Verdict, Problem: p.Problem,
			Diff: quarantine.Diff{Changes: []quarantine.Change{}}}, sent}
		if p.Verdict != quarantine.Unchanged {
			line.Diff = quarantine.Compare(p.Before, p.After)
		}
		return writeJSON(a.out, line)
	}
	if p.Verdict == quarantine.Unchanged {
		return nil
	}
	_, err := io.WriteString(a.out, diffText(quarantine.Compare(p.Before, p.After), a.colour(a.out)))
	return err
}

// again asks on a terminal whether a text that is not valid is edited again.
func (a *app) again(problem string) bool {
	if !isTerminal(a.in) {
		return false
	}
	a.notef("that is not valid: %s", problem)
	_, _ = fmt.Fprint(a.err, "edit it again? [Y/n] ")
	reply, err := bufio.NewReader(a.in).ReadString('\n')
	reply = strings.ToLower(strings.TrimSpace(reply))
	return err == nil && (reply == "" || strings.HasPrefix(reply, "y"))
}
