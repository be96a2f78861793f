package siding

import (
	"context"
	"time"
)

// Act is something that an operator does: it is kept in the audit trail by the same writes that carry it out, so that
// nothing is done unrecorded, and nothing recorded that was not done.
type Act struct {
	// ID joins the writes of one act into one entry, which counts what they changed: random, or empty for an entry for
	// each call.
	ID string
	// By is the operator's name, as far as the program knows it.
	By string
	// Text says what was asked for, in the words of a command.
	Text string
}

type actKey struct{}

// WithAct gives a context whose operations belong to an act. Without one they are recorded without a name.
func WithAct(ctx context.Context, a Act) context.Context { return context.WithValue(ctx, actKey{}, a) }

// ActOf gives the act that operations with this context belong to, scrubbed as it is stored; the zero Act where there
// is none.
func ActOf(ctx context.Context) Act {
	a, _ := ctx.Value(actKey{}).(Act)
	return Act{ID: Scrub(a.ID, 64), By: Scrub(a.By, MaxHeader), Text: Scrub(a.Text, MaxHeader)}
}

// Action says what an operator did. The values are stored, so the list is append-only.
type Action string

// The actions that are recorded.
const (
	ActionRedrive   Action = "redrive"    // dead letters returned to their queue as they were
	ActionRepair    Action = "repair"     // dead letters returned with another body or other headers
	ActionDiscard   Action = "discard"    // messages given up
	ActionMarkGroup Action = "mark-group" // a group's state or note changed
	ActionCampaign  Action = "campaign"   // a campaign made, paused, resumed or aborted
	ActionHold      Action = "hold"       // a gate held by hand
	ActionResume    Action = "resume"     // a hold ended by hand
	ActionReask     Action = "reask"      // done messages asked again under another recipe, or their answers kept
	ActionSetting   Action = "setting"    // a setting of the store changed
	ActionDrop      Action = "drop"       // bodies dropped because of a retention setting
)

// Actions lists every action, in the order in which they were added.
func Actions() []Action {
	return []Action{
		ActionRedrive, ActionRepair, ActionDiscard, ActionMarkGroup, ActionCampaign, ActionHold, ActionResume, ActionReask,
		ActionSetting, ActionDrop,
	}
}

// AuditEntry is one act, or one call where no act was named.
type AuditEntry struct {
	Number int64 // rises with time
	Act    Act
	Action Action
	At     time.Time // of the first write
	Last   time.Time // of the latest write
	Queue  string    // empty: several, or none
	Count  int64     // how many messages (or groups, gates, settings) were changed
	Detail string    // what exactly: IDs of a few messages, a reason, a setting's values before and after; scrubbed
}

// auditIDs is how many IDs an entry names.
const auditIDs = 5

// Did takes in what a write of the act changed: n messages (or groups, gates, settings), at least one, of a queue; ids
// names some of them, and what says more, where there is more to say.
func (e *AuditEntry) Did(queue, what string, n int64, ids []string, now time.Time) {
	if e.Count == 0 {
		e.At, e.Queue, e.Detail = now, queue, Scrub(what, MaxHeader/2)
	}
	if e.Queue != queue {
		e.Queue = ""
	}
	e.Last = now
	for i, id := range ids[:min(int64(len(ids)), max(auditIDs-e.Count, 0))] {
		switch {
		case e.Count == 0 && i == 0 && what != "":
			e.Detail += ": "
		case e.Detail != "":
			e.Detail += ", "
		}
		e.Detail += Scrub(id, 128)
	}
	e.Detail = Scrub(e.Detail, MaxHeader)
	e.Count += n
}
