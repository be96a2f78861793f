package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// exportLine is a dead letter with its exact body.
type exportLine struct {
	deadLetterLine
	ContentType string            `json:"content_type"`
	Headers     map[string]string `json:"headers"`
	Body        *string           `json:"body"`                  // null when it is not UTF-8
	BodyBase64  string            `json:"body_base64,omitempty"` // a body that is not UTF-8
}

func (a *app) dlqExportCommand() *cobra.Command {
	var sf selectFlags
	var out, format string
	var force bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters with their exact bodies to a file",
		Long: "Export writes what was set aside, all of it or a selection, as JSON Lines (the lines of \"dlq list --json\" with the\n" +
			"body; in base64 where it is not UTF-8) or as CSV. In CSV, a cell that a spreadsheet would take for a formula\n" +
			"begins with an apostrophe.\n\n" + whereHelp,
		Example: example("siding dlq export --out dead.jsonl", "siding dlq export --cause invalid-json --format csv --out dead.csv"),
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "jsonl" && format != "csv" {
				return usagef("--format %q is unknown; it is jsonl or csv", siding.Scrub(format, 64))
			}
			if a.json && format == "csv" && isStdout(out) {
				return usagef("--json and --format csv contradict each other on standard output; give --out FILE, or one of them")
			}
			store, _, err := a.openReading(cmd.Context())
			if err != nil {
				return err
			}
			defer closing(store)
			info, err := store.Info(cmd.Context())
			if err != nil {
				return storeError(err)
			}
			sel, err := a.resolve(cmd.Context(), store, &sf)
			if err != nil {
				return storeError(err)
			}
			sel.Bodies = true
			cell := noFormula
			if isStdout(out) && isTerminal(a.out) {
				cell = shownCell
			}
			fill := func(w io.Writer) error { return a.export(cmd.Context(), w, store, sel, format, cell) }
			if isStdout(out) {
				return storeError(buffered(a.out, fill))
			}
			file, err := openOut(out, nil, force, storeFiles(info)...)
			if err != nil {
				return err
			}
			return storeError(file.write(fill))
		},
	}
	sf.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&out, "out", "o", "-", "the file; - is standard output")
	f.StringVar(&format, "format", "jsonl", "jsonl or csv")
	f.BoolVar(&force, "force", false, "replace a file that is there")
	return cmd
}

// export writes dead letters; cell makes a cell of CSV of a text.
func (a *app) export(ctx context.Context, w io.Writer, store siding.Operator, sel *selection, format string,
	cell func(string) string,
) error {
	put := func(l siding.Listed) error { return writeJSON(w, newExportLine(l)) }
	if format == "csv" {
		c := csv.NewWriter(w)
		defer c.Flush()
		if err := c.Write(exportHead); err != nil {
			return err
		}
		put = func(l siding.Listed) error {
			row := exportRow(newExportLine(l))
			for i, text := range row {
				row[i] = cell(text)
			}
			return c.Write(row)
		}
	}
	var n, unread int64
	for l, err := range sel.walk(ctx, store) {
		switch {
		case err != nil && (isEndless(err) || ctx.Err() != nil):
			return endOfWalk(ctx, err)
		case err != nil:
			unread++
			a.notef("a message that cannot be read was left out: %v", err)
			continue
		}
		if err := put(l); err != nil {
			return err
		}
		n++
	}
	a.reportFailed(sel)
	if unread > 0 {
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", counted(unread, "message"))
	}
	a.hintf("%s exported", counted(n, "dead letter"))
	return nil
}

func newExportLine(l siding.Listed) exportLine {
	e := exportLine{deadLetterLine: newDeadLetterLine(l), ContentType: l.ContentType, Headers: l.Headers}
	if e.Headers == nil {
		e.Headers = map[string]string{}
	}
	e.Body, e.BodyBase64 = textOrBase64(l.Body)
	return e
}

var exportHead = []string{
	"queue", "id", "reason", "cause", "fingerprint", "attempt", "waits", "interruptions", "redrives", "first_received_at",
	"dead_at", "last_error", "file", "line", "offset", "fault_offset", "content_type", "body", "body_base64",
}

func exportRow(e exportLine) []string {
	number := func(n *int64) string {
		if n == nil {
			return ""
		}
		return strconv.FormatInt(*n, 10)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	return []string{
		e.Queue, e.ID, string(e.Reason), string(e.Cause), e.Fingerprint, strconv.Itoa(e.Attempt), strconv.Itoa(e.Waits),
		strconv.Itoa(e.Interruptions), strconv.Itoa(e.Redrives), moment(e.FirstReceivedAt), moment(e.DeadAt), e.LastError,
		text(e.File), number(e.Line), number(e.Offset), number(e.FaultOffset), e.ContentType, text(e.Body), e.BodyBase64,
	}
}

func moment(t stamp) string {
	if time.Time(t).IsZero() {
		return ""
	}
	return time.Time(t).UTC().Format(time.RFC3339Nano)
}

// noFormula keeps a spreadsheet from running a cell: the beginnings are those that OWASP names for CSV injection, and
// their full-width twins, which some take for the same.
func noFormula(cell string) string {
	if first, _ := utf8.DecodeRuneInString(cell); cell != "" && strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return "'" + cell
	}
	return cell
}

// shownCell is noFormula for a terminal, which gets no control characters.
func shownCell(cell string) string { return siding.Scrub(noFormula(cell), 8*len(cell)+256) }

// endOfWalk gives the error with which a walk over messages ended early.
func endOfWalk(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case errors.Is(err, errEndless):
		return asUsage(err)
	}
	return err
}
