package memory

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/siding-dev/siding"
)

// NextMembers gives pending members that may be sent now; see [siding.Campaigner].
func (s *Store) NextMembers(ctx context.Context, id siding.CampaignID, n int) (out []siding.CampaignMember, err error) {
	err = s.read(ctx, func(x *tx) error {
		c, err := x.campaign(id)
		if err != nil {
			return err
		}
		allowed, _ := c.Allow(x.now)
		bytes := 0
		for _, e := range x.enlisted[id] {
			if int64(len(out)) >= min(allowed, int64(n)) || bytes >= siding.MaxMemberBytes {
				break
			}
			if e.status == siding.MemberPending {
				one := x.shownEnlisted(e)
				m := shown(x.messages[e.message], true)
				one.Message = &m
				bytes += len(m.Body)
				out = append(out, one)
			}
		}
		return nil
	})
	return out, err
}

// ReturnMembers writes what was decided of pending members; see [siding.Campaigner].
func (s *Store) ReturnMembers(ctx context.Context, id siding.CampaignID, moves ...siding.CampaignMove) ([]siding.MemberStatus, error) {
	out := make([]siding.MemberStatus, len(moves))
	err := s.write(ctx, "ReturnMembers", func(x *tx) error {
		c, err := x.campaign(id)
		if err != nil {
			return err
		}
		for i, move := range moves {
			if err := move.Check(); err != nil {
				return err
			}
			n, ok := x.numbers[key{move.Queue, move.Return.ID}]
			if !ok {
				continue
			}
			for _, e := range x.campaignsOf[n] {
				if e.campaign == id {
					x.move(c, e, move)
					out[i] = e.status
				}
			}
		}
		x.putCampaign(c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// ReturnNext sends pending members back as they are; see [siding.Campaigner].
func (s *Store) ReturnNext(ctx context.Context, id siding.CampaignID, limit int) (n int64, err error) {
	err = s.write(ctx, "ReturnNext", func(x *tx) error {
		c, err := x.campaign(id)
		if err != nil {
			return err
		}
		for _, e := range x.enlisted[id] {
			allowed, _ := c.Allow(x.now)
			if n >= int64(limit) || allowed == 0 {
				break
			}
			if e.status == siding.MemberPending {
				x.move(c, e, siding.CampaignMove{Status: siding.MemberSent})
				n++
			}
		}
		x.putCampaign(c)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// move does with a pending member what was decided, as far as the campaign allows it.
func (x *tx) move(c *siding.Campaign, e *enlisted, move siding.CampaignMove) {
	if e.status != siding.MemberPending || c.State != siding.CampaignRunning {
		return
	}
	m := *x.messages[e.message]
	n := *e
	n.status, n.text = move.Status, siding.Scrub(move.Text, siding.MaxHeader)
	from := move.Return.From
	switch {
	case m.State != siding.StateDead || !m.DeadAt.Equal(e.deadAt):
		n.status, n.text = siding.MemberSkipped, fmt.Sprintf("it is %s, and was sent back or changed by another way", m.State)
	case m.NoBody && (from != (siding.Hash{}) || n.status == siding.MemberSent && move.Return.Body == nil):
		n.status, n.text = siding.MemberInvalid, "its stored body was dropped, and there is nothing to send"
	case from != (siding.Hash{}) && from != sha256.Sum256(m.Body):
		n.status, n.text = siding.MemberSkipped, "its body was changed by another way"
	}
	if n.status != siding.MemberSent {
		x.become(e, n)
		c.PassOver(n.status, 1, x.now)
		return
	}
	if allowed, _ := c.Allow(x.now); allowed == 0 {
		return
	}
	n.serial, n.text, n.fingerprint = c.Serial, siding.Scrub(move.Return.Note, siding.MaxHeader), m.LastError.Fingerprint
	if _, err := x.comeBack(&m, move.Return, hand{by: c.By, campaign: c.ID}); err != nil {
		return // what it asks has been asked above
	}
	x.become(e, n)
	c.Send(1, x.now)
}

// ended records the end of a message that a campaign has sent: it has just become done, dead or discarded.
func (x *tx) ended(m *message) {
	status := siding.MemberOther
	switch m.State {
	case siding.StateDone:
		status = siding.MemberDone
	case siding.StateDiscarded:
		status = siding.MemberDiscarded
	case siding.StateDead:
	default:
		return
	}
	for _, e := range x.campaignsOf[m.number] {
		if e.status != siding.MemberSent {
			continue
		}
		if status == siding.MemberOther && m.LastError != nil && m.LastError.Fingerprint == e.fingerprint {
			status = siding.MemberSame
		}
		n := *e
		n.status = status
		x.become(e, n)
		c := *x.campaigns[e.campaign]
		c.Ended(status, e.serial, x.now)
		x.putCampaign(&c)
	}
}
