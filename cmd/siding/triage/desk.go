// Package triage is the page in the terminal on which a person works through what was set aside: groups of failures,
// the letters of one, what is wrong with a letter, what repairs would change, and sending back. It draws and obeys keys;
// everything else is asked of a [Desk]. The model is pure: news in, a screen and questions to the desk out.
package triage

import (
	"context"
	"time"

	"github.com/siding-dev/siding"
)

// Desk is what the page works on. Its methods are called from goroutines, several at once. What they give may hold any text: the
// page makes it safe to show.
type Desk interface {
	// Groups gives the groups that have dead letters, those with the most first.
	Groups(ctx context.Context) ([]Group, error)
	// Letters walks over the letters of a group. Close it in the end.
	Letters(ctx context.Context, key siding.GroupKey) Pages
	// Letter gives all that is known of one letter.
	Letter(ctx context.Context, queue, id string) (Letter, error)
	// CheckRepair says what is wrong with a repair that was typed.
	CheckRepair(text string) error
	// Preview says what repairs would do to one letter.
	Preview(ctx context.Context, queue, id string, repairs []string) (Preview, error)
	// Totals previews the letters of a group, one step after the other, without changing them.
	Totals(ctx context.Context, key siding.GroupKey, repairs []string) Work
	// SendBack sends letters back, mended where there are repairs.
	SendBack(ctx context.Context, t Target, repairs []string) Work
	// Campaign begins to send a group back as a campaign that tries a canary of so many first, and says what to do next.
	Campaign(ctx context.Context, key siding.GroupKey, repairs []string, canary int64) (string, error)
	// Discard gives letters up for a reason.
	Discard(ctx context.Context, t Target, reason string) Work
	// Mark changes a group's state (empty: stays) and note (empty: stays).
	Mark(ctx context.Context, key siding.GroupKey, state siding.GroupState, note string) error
}

// Group is a group of dead letters.
type Group struct {
	siding.Group
	Trend string // see [siding.Hours.Trend]
}

// Row is a letter in a list.
type Row struct {
	ID     string
	DeadAt time.Time
	Text   string // the error, or what of it is short
}

// Pages walks over letters.
type Pages interface {
	// Next gives up to n more; fewer than n: there are no more. A letter that cannot be read is a row that says so.
	Next(n int) ([]Row, error)
	Close()
}

// Letter is all that is known of a letter, in lines to show.
type Letter struct {
	Row
	Queue string
	Lines []string
	// Suggested are repairs that mend it together; Others are repairs that fit one of its faults each.
	Suggested, Others []string
}

// Preview is what repairs would do to a letter.
type Preview struct {
	Verdict string   // changed, unchanged or invalid
	Problem string   // why it is invalid
	Lines   []string // what changes
}

// Target is one letter, or without an ID a whole group.
type Target struct {
	Key siding.GroupKey
	ID  string
}

// Counts is how far a piece of work is.
type Counts struct {
	Seen      int64 // letters looked at
	Changed   int64 // that were (or on a preview would be) changed: sent back, or given up
	Unchanged int64 // that no repair changes
	Invalid   int64 // that a repair would make invalid
	Missed    int64 // that were not set aside any more, or had changed
	NoBody    int64 // that have no body any more
	Note      string
}

// Work is done step by step, so that it is shown and can be stopped.
type Work interface {
	// Next does one more step and gives the sums; more is false after the last one, and with an error.
	Next(ctx context.Context) (c Counts, more bool, err error)
	Close()
}
