package quarantine

import (
	"context"

	"github.com/siding-dev/siding"
)

// mending is what a driver keeps of a campaign with repairs.
type mending struct {
	repairs Repairs
	facts   map[string]Facts // by queue
}

// mend sends some of a campaign's members back, each mended by the campaign's repairs. What they do not change, or make
// invalid, is passed over, and stays set aside.
func (d *Driver) mend(ctx context.Context, c siding.Campaign) (int64, error) {
	w := d.work[c.ID]
	if w == nil {
		repairs, err := ParseRepairs(c.Plan.Repairs)
		if err != nil {
			return 0, err
		}
		w = &mending{repairs: repairs, facts: map[string]Facts{}}
		if d.work == nil {
			d.work = map[siding.CampaignID]*mending{}
		}
		d.work[c.ID] = w
	}
	members, err := d.Store.NextMembers(ctx, c.ID, mendBatch)
	if err != nil {
		return 0, err
	}
	moves := make([]siding.CampaignMove, 0, len(members))
	for _, m := range members {
		facts, err := d.factsOf(ctx, w, m.Queue, c.Plan.Recipe)
		if err != nil {
			return 0, err
		}
		move := w.decide(ctx, m, facts)
		if ctx.Err() != nil {
			return 0, ctx.Err() // a repair that was cut is no verdict
		}
		moves = append(moves, move)
	}
	if len(moves) == 0 {
		return 0, nil
	}
	out, err := d.Store.ReturnMembers(ctx, c.ID, moves...)
	if err != nil {
		return 0, err
	}
	n := int64(0)
	for _, status := range out {
		if status != siding.MemberPending {
			n++
		}
	}
	return n, nil
}

func (d *Driver) factsOf(ctx context.Context, w *mending, queue, recipe string) (Facts, error) {
	if f, ok := w.facts[queue]; ok || d.Facts == nil {
		return f, nil
	}
	f, err := d.Facts(ctx, queue, recipe)
	if err == nil {
		w.facts[queue] = f
	}
	return f, err
}

// decide says what becomes of a member.
func (w *mending) decide(ctx context.Context, m siding.CampaignMember, f Facts) siding.CampaignMove {
	move := siding.CampaignMove{Queue: m.Queue, Status: siding.MemberInvalid, Return: siding.Return{ID: m.ID}}
	switch {
	case m.Message == nil:
		move.Text = "it cannot be read: " + m.Text
		return move
	case m.Message.NoBody:
		move.Text = "retention has dropped its body, and there is nothing to mend"
		return move
	}
	p := w.repairs.Preview(ctx, *m.Message, f)
	switch p.Verdict {
	case Changed:
		move.Status, move.Return = siding.MemberSent, p.Return(m.ID, w.repairs)
	case Unchanged:
		move.Status, move.Text = siding.MemberUnchanged, "the repairs found nothing to mend"
	default:
		move.Text = p.Problem
	}
	return move
}
