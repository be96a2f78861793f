package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// selectFlags are the flags that choose dead letters, the same for every command that works on a selection.
type selectFlags struct {
	queue        string
	ids          []string
	causes       []string
	fingerprints []string
	reasons      []string
	since, until string
	where        string
}

// reasonFlag is its name everywhere: for what a discarding command is given, --note is used.
const reasonFlag = "reason"

func (s *selectFlags) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.queue, "queue", "", "only this queue")
	f.StringArrayVar(&s.ids, "id", nil, "only this event ID (may be given several times)")
	f.StringSliceVar(&s.causes, "cause", nil, "only this cause (several: comma, or several times)")
	f.StringSliceVar(&s.fingerprints, "fingerprint", nil, "only this group")
	f.StringSliceVar(&s.reasons, reasonFlag, nil, "only what was set aside for this reason")
	f.StringVar(&s.since, "since", "", "set aside at or after this: RFC 3339, or a duration ago such as 2h or 3d")
	f.StringVar(&s.until, "until", "", "set aside before this")
	f.StringVar(&s.where, "where", "", "only those for which this jq expression is true, "+
		`for instance '.body.title == "x"'`)
	_ = cmd.RegisterFlagCompletionFunc("cause", cobra.FixedCompletions(texts(siding.Causes()), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc(reasonFlag, cobra.FixedCompletions(texts(siding.Reasons()), cobra.ShellCompDirectiveNoFileComp))
}

// empty tells whether nothing was selected at all.
func (s *selectFlags) empty() bool {
	return s.queue == "" && len(s.ids) == 0 && len(s.causes) == 0 && len(s.fingerprints) == 0 && len(s.reasons) == 0 &&
		s.since == "" && s.until == "" && s.where == ""
}

// selection is what the flags come to.
type selection struct {
	siding.Selection
	where *filter // nil: all
	failed
}

// failed counts the messages for which the expression of --where gave an error; they are not selected.
type failed struct {
	count int64
	first error
}

// resolve reads the flags, with now as the store's time. The result selects dead letters only.
func (s *selectFlags) resolve(now time.Time) (*selection, error) {
	sel := &selection{Selection: siding.Selection{
		Queue: s.queue, IDs: s.ids, States: []siding.State{siding.StateDead}, Fingerprints: s.fingerprints,
	}}
	for _, flag := range []struct {
		name   string
		values []string
	}{{"id", s.ids}, {"cause", s.causes}, {"fingerprint", s.fingerprints}, {reasonFlag, s.reasons}} {
		if slices.Contains(flag.values, "") {
			return nil, usagef("--%s is empty; leave it out, or give a value", flag.name)
		}
	}
	for _, c := range s.causes {
		sel.Causes = append(sel.Causes, siding.Cause(c))
	}
	for _, r := range s.reasons {
		if !slices.Contains(siding.Reasons(), siding.Reason(r)) {
			return nil, usagef("--reason %q is no reason; the reasons are %s", siding.Scrub(r, 64),
				strings.Join(texts(siding.Reasons()), ", "))
		}
		sel.Reasons = append(sel.Reasons, siding.Reason(r))
	}
	var err error
	if sel.Since, err = parseMoment("--since", s.since, now); err != nil {
		return nil, err
	}
	if sel.Until, err = parseMoment("--until", s.until, now); err != nil {
		return nil, err
	}
	if s.where != "" {
		if sel.where, err = newFilter(s.where); err != nil {
			return nil, err
		}
		sel.Bodies = true
	}
	return sel, nil
}

// walk gives what is selected. A row that cannot be read gives its error in its place, and the walk goes on; an error of
// --where is counted, but one that would come again for each row ends the walk.
func (s *selection) walk(ctx context.Context, store siding.Operator) iter.Seq2[siding.Listed, error] {
	return func(yield func(siding.Listed, error) bool) {
		for l, err := range store.List(ctx, s.Selection) {
			selected := true
			if err == nil && s.where != nil {
				if selected, err = s.judge(ctx, l); err != nil {
					yield(l, err)
					return
				}
			}
			if selected && !yield(l, err) {
				return
			}
		}
	}
}

// judge tells whether --where selects a message. Its error is one that would come again for each.
func (s *selection) judge(ctx context.Context, l siding.Listed) (bool, error) {
	ok, err := s.where.match(ctx, l)
	switch {
	case err == nil:
		return ok, nil
	case isEndless(err):
		return false, err
	}
	if s.count++; s.first == nil {
		s.first = fmt.Errorf("message %q: %w", l.ID, err)
	}
	return false, nil
}

// reportFailed says how many messages --where could not judge.
func (a *app) reportFailed(s *selection) {
	if s.count > 0 {
		a.notef("--where gave an error for %s, which were not selected; the first: %v", counted(s.count, "message"), s.first)
	}
}

// parseMoment reads a time: RFC 3339, a date, or a duration before now. Empty is the zero time.
func parseMoment(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	d, err := parseSpan(text)
	if err != nil {
		return time.Time{}, usagef("%s %q is no time; give RFC 3339 such as 2026-01-31T15:04:05Z, or a duration ago such as 2h or 3d",
			flag, siding.Scrub(text, 64))
	}
	return now.Add(-d), nil
}

// parseSpan reads a duration that is not negative; days (3d) count 24 hours.
func parseSpan(text string) (time.Duration, error) {
	var d time.Duration
	rest := text
	if days, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		d, rest = time.Duration(n)*24*time.Hour, after
		if rest == "" {
			return d, nil
		}
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 {
		return 0, fmt.Errorf("%q is no duration", text)
	}
	return d + more, nil
}

// texts gives codes as strings.
func texts[T ~string](codes []T) []string {
	s := make([]string, len(codes))
	for i, c := range codes {
		s[i] = string(c)
	}
	return s
}
