package siding

import (
	"context"
	"fmt"
	"iter"
)

// Campaigner keeps campaigns and their members. Everything that is sent back goes by the guards of [Quarantine.Return],
// and membership is written in the same write, also when a member settles: so a campaign that dies at any moment and is
// driven on neither repeats nor forgets one, whoever drives it, and however many do so at once. A message is a member of
// at most one campaign that is not over. See [Store] for what holds for every method.
type Campaigner interface {
	// CreateCampaign makes a campaign that selects its messages ([NewCampaign]), in the name of the act's operator.
	CreateCampaign(ctx context.Context, p CampaignPlan) (Campaign, error)
	// Enlist makes up to limit of the messages that the plan's selection names members, in the order of listing, from a
	// place on, in one write. Who is a member already stays one. [ErrWrongState] when the campaign does not select any more.
	Enlist(ctx context.Context, id CampaignID, from Place, limit int) (Enlistment, error)
	// EnlistEach makes messages members one by one, for a plan with an expression. Each entry answers for one ID: nil (also
	// for one that is a member already), [ErrNotFound], [ErrWrongState] when it is not dead, [ErrConflict] when it is a
	// member of another campaign.
	EnlistEach(ctx context.Context, id CampaignID, queue string, ids ...string) ([]error, error)
	// StartCampaign ends the selecting; a campaign that has been started stays as it is.
	StartCampaign(ctx context.Context, id CampaignID) error
	// NextMembers gives pending members with their bodies, at most n and at most as many as may be sent now
	// ([Campaign.Allow]), in the order in which they became members. After one with which the bodies come to
	// [MaxMemberBytes] it gives no more.
	NextMembers(ctx context.Context, id CampaignID, n int) ([]CampaignMember, error)
	// ReturnMembers writes what was decided of pending members, all in one write: sent back as [Quarantine.Return] does, or
	// passed over. A member that is dead no more, was redriven since it became one, or has another body than m.Return.From
	// is skipped, and one whose body was dropped is invalid. What is beyond the campaign's allowance stays pending, and so does
	// everything while it does not run. It gives the status of each afterwards; empty where it is no member.
	ReturnMembers(ctx context.Context, id CampaignID, moves ...CampaignMove) ([]MemberStatus, error)
	// ReturnNext sends up to limit pending members back as they are, as far as the allowance goes, in one write, and gives
	// how many it sent or passed over, as ReturnMembers does.
	ReturnNext(ctx context.Context, id CampaignID, limit int) (int64, error)
	// ActOnCampaign carries out an operator's action; see [Campaign.Act].
	ActOnCampaign(ctx context.Context, id CampaignID, a CampaignAction, why string) (Campaign, error)
	// Campaign gives a campaign, or [ErrNotFound].
	Campaign(ctx context.Context, id CampaignID) (Campaign, error)
	// Campaigns gives campaigns, the latest first: those in one of the states, or all.
	Campaigns(ctx context.Context, states ...CampaignState) ([]Campaign, error)
	// CampaignMembers walks over the members of a campaign in the order in which they became members, without bodies: those
	// in one of the statuses, or all.
	CampaignMembers(ctx context.Context, id CampaignID, statuses ...MemberStatus) iter.Seq2[CampaignMember, error]
}

// MaxMemberBytes bounds the bodies that [Campaigner.NextMembers] gives at once.
const MaxMemberBytes = 8 << 20

// Place is a place in a listing of dead letters; the zero Place is its beginning.
type Place struct{ At, Number int64 }

// Enlistment is what became of one step of a selection.
type Enlistment struct {
	Added int64
	// Busy is how many were left out because they are members of another campaign, and Other is one such campaign.
	Busy  int64
	Other CampaignID
	Next  Place
	More  bool // call again with Next
}

// CampaignMember is a message in a campaign.
type CampaignMember struct {
	Queue, ID   string
	Status      MemberStatus
	Fingerprint string // of its failure when it became a member, or was sent
	Serial      int    // the stage in which it was sent
	Text        string // why it was passed over, or how it was repaired; scrubbed
	// Message is the message as it is, in [Campaigner.NextMembers] only.
	Message *Message
}

// CampaignMove is what was decided of a pending member.
type CampaignMove struct {
	Queue string
	// Status is sent, or why it is not: unchanged, invalid or skipped.
	Status MemberStatus
	Return Return // ID always; the rest for one that is sent
	Text   string // why it is not sent; scrubbed
}

// Check says what is wrong with a move: only a pending member is moved, and only to what it can become then.
func (m CampaignMove) Check() error {
	switch m.Status {
	case MemberSent, MemberUnchanged, MemberInvalid, MemberSkipped:
		return nil
	}
	return fmt.Errorf("message %q of a campaign cannot be made %q; it can be sent, or be unchanged, invalid or skipped",
		Scrub(m.Return.ID, 64), Scrub(string(m.Status), 64))
}
