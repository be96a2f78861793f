package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/intake"
)

// sendFlags are the flags of send.
type sendFlags struct {
	id, body, bodyFile, contentType string
	headers                         []string
	notBefore, expires              string
	priority                        int16
	format                          string
	supersede, redriveDead          bool
	maxDepth                        int64
	simulated                       bool
}

func (a *app) sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send QUEUE|RECIPE",
		Short: "Put messages into a queue, without working on them",
		Long: "Send enqueues one message with --id, whose body comes from --body, --body-file or standard input; or without --id\n" +
			"each record of standard input, with the event IDs where a recipe says they are. An ID that is known with another\n" +
			"body is refused, unless --supersede. A record without an ID gets one from its bytes.\n" +
			"What is enqueued is durable when the command ends; \"siding work\" works on it.",
		Example: example("siding send reminders --id evt-42 --body '{\"to\":\"ada\"}'",
			"siding send recipe.yaml < records.jsonl"),
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.send(cmd.Context(), args[0], f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.id, "id", "", "the event ID of one message")
	fl.StringVar(&f.body, "body", "", "its body")
	fl.StringVar(&f.bodyFile, "body-file", "", "the file that is its body; - is standard input")
	fl.StringVar(&f.contentType, "content-type", "", "the body's media type (default application/json)")
	fl.StringArrayVar(&f.headers, "header", nil, "a header NAME=VALUE (may be given several times)")
	fl.StringVar(&f.notBefore, "not-before", "", "the earliest delivery: RFC 3339, or a duration from now such as 2h or 3d")
	fl.StringVar(&f.expires, "expires", "", "set aside when not done by then: RFC 3339, or a duration from now")
	fl.Int16Var(&f.priority, "priority", 0, "higher is worked on first")
	formatFlag(cmd, &f.format)
	fl.BoolVar(&f.supersede, "supersede", false, "let an ID that is known with another body take the new one")
	fl.BoolVar(&f.redriveDead, "redrive-dead", false, "send back what is known with the same body and was set aside")
	fl.Int64Var(&f.maxDepth, "max-depth", 0, "refuse more than this many undone messages in the queue; 0: no limit")
	fl.BoolVar(&f.simulated, "simulate", false, "into the simulated store, "+defaultSimStore)
	return cmd
}

// sentLine is what became of one message, with --json.
type sentLine struct {
	Type   string               `json:"type"` // sent
	V      int                  `json:"v"`
	Queue  string               `json:"queue"`
	ID     string               `json:"id"`
	Status siding.EnqueueStatus `json:"status"`
	Error  string               `json:"error,omitempty"`
}

func (a *app) send(ctx context.Context, target string, f sendFlags) error {
	queue, o := target, intake.Options{Stdin: a.in}
	if looksLikeFile(target) {
		r, err := loadRecipe(target)
		if err != nil {
			return err
		}
		queue = r.Queue
		if o, err = a.recipeIntake(r, f.format); err != nil {
			return err
		}
	} else if f.format != "" {
		var err error
		if o.Format, err = intake.ParseFormat(f.format); err != nil {
			return usagef("--format: %w", err)
		}
	}
	if err := checkQueue(queue); err != nil {
		return err
	}
	extra, err := f.message(time.Now())
	if err != nil {
		return err
	}
	if f.id != "" {
		if extra.Body, err = a.oneBody(f); err != nil {
			return err
		}
	} else if f.body != "" || f.bodyFile != "" {
		return usagef("--body and --body-file are for one message; give its --id")
	}
	store, _, err := a.openCreating(ctx, "", f.simulated)
	if err != nil {
		return err
	}
	defer closing(store)
	options := siding.EnqueueOptions{Supersede: f.supersede, RedriveDead: f.redriveDead, MaxDepth: f.maxDepth}
	if f.id != "" {
		s := &sender{app: a, store: store, queue: queue, options: options}
		return storeError(s.end(s.put(ctx, []siding.NewMessage{extra})))
	}
	return storeError(a.sendAll(ctx, &sender{app: a, store: store, queue: queue, options: options}, o, extra))
}

// message gives what the flags say of every message.
func (f sendFlags) message(now time.Time) (siding.NewMessage, error) {
	m := siding.NewMessage{ID: f.id, ContentType: f.contentType, Priority: f.priority, Headers: map[string]string{}}
	if f.id != "" {
		if err := siding.CheckID(f.id); err != nil {
			return m, usagef("--id: %w", err)
		}
	}
	if f.maxDepth < 0 {
		return m, usagef("--max-depth is %d; it must be 0 (no limit) or more", f.maxDepth)
	}
	for _, h := range f.headers {
		k, v, ok := strings.Cut(h, "=")
		if !ok || k == "" {
			return m, usagef("--header %q is not of the form NAME=VALUE", siding.Scrub(h, 200))
		}
		m.Headers[k] = v
	}
	var err error
	if m.NotBefore, err = parseFuture("--not-before", f.notBefore, now); err == nil {
		m.ExpiresAt, err = parseFuture("--expires", f.expires, now)
	}
	return m, err
}

// parseFuture reads a time, or a duration from now.
func parseFuture(flag, text string, now time.Time) (time.Time, error) {
	if d, err := parseSpan(text); err == nil && text != "" {
		return now.Add(d), nil
	}
	t, err := parseMoment(flag, text, now)
	if err != nil {
		return t, usagef("%s %q is no time; give RFC 3339 such as 2026-01-31T15:04:05Z, or a duration from now such as 2h or 3d",
			flag, siding.Scrub(text, 64))
	}
	return t, nil
}

func (a *app) oneBody(f sendFlags) ([]byte, error) {
	switch {
	case f.body != "" && f.bodyFile != "":
		return nil, usagef("--body and --body-file contradict each other; give one of them")
	case f.body != "":
		return []byte(f.body), nil
	case f.bodyFile == "" || f.bodyFile == intake.Stdin:
		return io.ReadAll(a.in)
	}
	b, err := os.ReadFile(f.bodyFile)
	return b, asUsage(err)
}

// looksLikeFile tells a recipe from the name of a queue.
func looksLikeFile(s string) bool {
	ext := strings.ToLower(filepath.Ext(s))
	return ext == ".yaml" || ext == ".yml" || strings.ContainsRune(s, os.PathSeparator)
}

// checkQueue says what is wrong with the name of a queue.
func checkQueue(name string) error {
	if err := siding.CheckID(name); err != nil {
		return usagef("the queue's name %q cannot be used: %s", siding.Scrub(name, 64),
			strings.TrimPrefix(err.Error(), siding.ErrInvalidID.Error()+": "))
	}
	return nil
}
