package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
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
	Body        *string           `json:"body"`                  // null when it is not UTF-8, dropped, or in a file
	BodyBase64  string            `json:"body_base64,omitempty"` // a body that is not UTF-8
	BodyFile    string            `json:"body_file,omitempty"`   // the file in the folder of --bodies
}

func (a *app) dlqExportCommand() *cobra.Command {
	var sf selectFlags
	var out, format, bodies string
	var force bool
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write dead letters with their exact bodies to a file",
		Long: "Export writes what was set aside, all of it or a selection, as JSON Lines (the lines of \"dlq list --json\" with the\n" +
			"body; in base64 where it is not UTF-8) or as CSV. In CSV, a cell that a spreadsheet would take for a formula\n" +
			"begins with an apostrophe.\n\n" +
			"--bodies writes each body, byte for byte, into a file of its own in a folder; the lines name the files then. Files that are\n" +
			"there are not replaced.\n\n" + whereHelp,
		Example: example("siding dlq export --out dead.jsonl", "siding dlq export --cause invalid-json --format csv --out dead.csv",
			"siding dlq export --bodies dead/ --out dead.jsonl"),
		Args: cobra.NoArgs,
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
			ex := &export{app: a, store: store, sel: sel, format: format, cell: cell}
			if bodies != "" {
				if ex.bodies, err = openBodyFolder(bodies); err != nil {
					return err
				}
				defer closing(ex.bodies)
			}
			fill := func(w io.Writer) error { return ex.write(cmd.Context(), w) }
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
	f.BoolVar(&force, "force", false, "replace the file --out where it is there")
	f.StringVar(&bodies, "bodies", "", "write each body into a file of its own in this folder, which is made where it is not there")
	return cmd
}

// export writes dead letters.
type export struct {
	*app
	store  siding.Operator
	sel    *selection
	format string
	cell   func(string) string // makes a cell of CSV of a text
	bodies *bodyFolder         // nil: bodies are in the lines
}

func (e *export) write(ctx context.Context, w io.Writer) error {
	put := func(l exportLine) error { return writeJSON(w, l) }
	if e.format == "csv" {
		c := csv.NewWriter(w)
		defer c.Flush()
		if err := c.Write(exportHead); err != nil {
			return err
		}
		put = func(l exportLine) error {
			row := exportRow(l)
			for i, text := range row {
				row[i] = e.cell(text)
			}
			return c.Write(row)
		}
	}
	var n, unread, unwritten int64
	for l, err := range e.sel.walk(ctx, e.store) {
		switch {
		case err != nil && (isEndless(err) || ctx.Err() != nil):
			return endOfWalk(ctx, err)
		case err != nil:
			unread++
			e.notef("a message that cannot be read was left out: %v", err)
			continue
		}
		line := newExportLine(l)
		if e.bodies != nil && !l.NoBody {
			if line.BodyFile, err = e.bodies.write(l.Message); err != nil {
				if unwritten++; diskFull(err) {
					return fmt.Errorf("the body of message %q: %w", l.ID, err)
				}
				e.notef("the body of message %q was not written: %v", l.ID, err)
			}
			line.Body, line.BodyBase64 = nil, ""
		}
		if err := put(line); err != nil {
			return err
		}
		n++
	}
	e.reportFailed(e.sel)
	e.hintf("%s exported", counted(n, "dead letter"))
	if unwritten > 0 {
		return fmt.Errorf("%s could not be written", plural(int(unwritten), "body", "bodies"))
	}
	if unread > 0 {
		return fmt.Errorf("%s could not be read; \"siding doctor\" says more", counted(unread, "message"))
	}
	return nil
}

func newExportLine(l siding.Listed) exportLine {
	e := exportLine{deadLetterLine: newDeadLetterLine(l), ContentType: l.ContentType, Headers: l.Headers}
	if e.Headers == nil {
		e.Headers = map[string]string{}
	}
	if !l.NoBody {
		e.Body, e.BodyBase64 = textOrBase64(l.Body)
	}
	return e
}

var exportHead = []string{
	"queue", "id", "reason", "cause", "fingerprint", "attempt", "waits", "interruptions", "redrives", "first_received_at",
	"dead_at", "last_error", "file", "line", "offset", "fault_offset", "content_type", "body", "body_base64", "suggested_repairs",
	"no_body", "headers", "body_file",
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
		strings.Join(e.SuggestedRepairs, " "), strconv.FormatBool(e.NoBody), headersText(e.Headers), e.BodyFile,
	}
}

func moment(t stamp) string {
	if time.Time(t).IsZero() {
		return ""
	}
	return time.Time(t).UTC().Format(time.RFC3339Nano)
}

// headersText gives headers as one JSON object; empty where there are none.
func headersText(h map[string]string) string {
	if len(h) == 0 {
		return ""
	}
	text, err := json.Marshal(h)
	if err != nil { // texts only: there is none
		return ""
	}
	return string(text)
}

// noFormula keeps a spreadsheet from running a cell: the beginnings are those that OWASP names for CSV injection, and
// their full-width twins, which some take for the same; also behind what some take away first: spaces, and marks that
// are not seen.
func noFormula(cell string) string {
	if strings.ContainsAny(firstOf(cell), "\t\r\n") || strings.ContainsAny(firstOf(strings.TrimLeft(cell, " \u00a0\u200b\ufeff")), "=+-@＝＋－＠") {
		return "'" + cell
	}
	return cell
}

// firstOf gives the first character of a text, which may have none.
func firstOf(text string) string {
	_, n := utf8.DecodeRuneInString(text)
	return text[:n]
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
