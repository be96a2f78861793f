package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/siding-dev/siding"
)

// Why a member is passed over.
const (
	textElsewhere  = "it was sent back, changed or given up by another way"
	textOtherBody  = "its body was changed by another way"
	textNoBody     = "its stored body was dropped, and there is nothing to send"
	textUnreadable = "its row in the store cannot be read"
)

// readable holds for a message m whose row can be read, as far as a hand can have broken it.
const readable = `least(m.attempt, m.gray, m.waits, m.interruptions, m.redrives, m.deliveries, m.solo_crashes, m.reset_after) >= 0`

// pendingOf finds the pending members (x) of a campaign from a row on.
const pendingOf = "x.campaign = ? AND x.id >= ? AND x.status = 'pending'"

// errEnough ends a query before its last row.
var errEnough = errors.New("enough")

// NextMembers gives pending members that may be sent now; see [siding.Campaigner].
func (s *Store) NextMembers(ctx context.Context, id siding.CampaignID, n int) ([]siding.CampaignMember, error) {
	var out []siding.CampaignMember
	now, err := s.Now(ctx)
	if err != nil {
		return nil, err
	}
	err = s.snapshot(ctx, func(c *conn) error {
		out = nil
		k, err := campaignOf(c, id)
		if err != nil {
			return err
		}
		allowed, _ := k.Allow(now)
		bytes := 0
		err = c.query(func(r *row) error {
			_, one := r.campaignMember()
			if r.err != nil {
				return r.err
			}
			m := (&row{v: r.v[memberWidth:], fields: r.fields[memberWidth:]}).shownWithBody()
			if one.Message = m; m == nil {
				one.Text = textUnreadable
			}
			out = append(out, one)
			if m != nil {
				bytes += len(m.Body)
			}
			if bytes >= siding.MaxMemberBytes {
				return errEnough
			}
			return nil
		}, "SELECT "+memberColumns+", "+shownColumns+", "+bodyColumns+` FROM campaign_members x LEFT JOIN messages m ON m.id = x.message
			LEFT JOIN last_errors e ON e.message = m.id LEFT JOIN queues q ON q.id = m.queue LEFT JOIN bodies b ON b.message = m.id
			WHERE `+pendingOf+" ORDER BY x.id LIMIT ?", int64(id), k.next, min(allowed, int64(n)))
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// shownWithBody reads [shownColumns] and [bodyColumns]; nil where they cannot be read.
func (r *row) shownWithBody() *siding.Message {
	m := r.shown()
	r.body(shownWidth, &m.Message)
	if r.err != nil {
		return nil
	}
	return &m.Message
}

// ReturnMembers writes what was decided of pending members; see [siding.Campaigner].
func (s *Store) ReturnMembers(ctx context.Context, id siding.CampaignID, moves ...siding.CampaignMove) ([]siding.MemberStatus, error) {
	bytes := 0
	for i := range moves {
		if err := moves[i].Check(); err != nil {
			return nil, err
		}
		bytes += len(moves[i].Return.Body) + 512
	}
	var out []siding.MemberStatus
	err := s.onCampaign(ctx, "return-members", bytes, id, func(t *tx, k *keptCampaign) (err error) {
		out = make([]siding.MemberStatus, len(moves))
		for i := range moves {
			if out[i], err = t.moveMember(k, &moves[i]); err != nil {
				return err
			}
		}
		return t.passed(k)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// passed notes from where on pending members stand.
func (t *tx) passed(k *keptCampaign) error {
	next, err := t.number("SELECT x.id FROM campaign_members x WHERE "+pendingOf+" ORDER BY x.id LIMIT 1", int64(k.ID), k.next)
	if err == nil && next == 0 {
		next, err = t.number("SELECT max(id) + 1 FROM campaign_members")
	}
	k.next = max(k.next, next)
	return err
}

// moveMember does with a pending member what was decided, as far as the campaign allows it, and gives its status.
func (t *tx) moveMember(k *keptCampaign, move *siding.CampaignMove) (siding.MemberStatus, error) {
	q, err := t.queue(move.Queue, false)
	if err != nil {
		return "", err
	}
	var m stored
	var member, deadAt int64
	var status siding.MemberStatus
	var bad error
	found, err := t.one(func(r *row) {
		m, bad = r.message(), r.err
		r.err = nil
		member, status, deadAt = r.int(messageWidth), siding.MemberStatus(r.str(messageWidth+1)), r.int(messageWidth+2)
	}, "SELECT "+messageColumns+`, x.id, x.status, x.dead_at FROM messages m JOIN campaign_members x ON x.message = m.id
		WHERE m.queue = ? AND m.event_id = ? AND x.campaign = ? ORDER BY x.id DESC LIMIT 1`, q, move.Return.ID, int64(k.ID))
	if err != nil || !found || status != siding.MemberPending || k.State != siding.CampaignRunning {
		return status, err
	}
	var to siding.MemberStatus
	var text string
	switch {
	case bad != nil:
		to, text = siding.MemberInvalid, textUnreadable
	case m.State != siding.StateDead || m.DeadAt.UnixMicro() != deadAt:
		to, text = siding.MemberSkipped, textElsewhere
	default:
		if to, text, err = t.fitToSend(&m, move); err != nil {
			return "", err
		}
	}
	now := fromMicros(t.now)
	if to != siding.MemberSent {
		k.PassOver(to, 1, now)
		return to, t.setMember(member, to, text)
	}
	if allowed, _ := k.Allow(now); allowed == 0 {
		return status, nil
	}
	fingerprint := m.fingerprint
	back, err := newComeback(move.Return)
	if err == nil {
		_, err = t.comeBack(&m, back, k.hand())
	}
	switch {
	case isGuard(err): // the row of its body is missing
		k.PassOver(siding.MemberInvalid, 1, now)
		return siding.MemberInvalid, t.setMember(member, siding.MemberInvalid, err.Error())
	case err != nil:
		return to, err
	}
	k.Send(1, now)
	return to, t.guarded("UPDATE campaign_members SET status = 'sent', serial = ?, fingerprint = ?, text = ? WHERE id = ? AND status = 'pending'",
		k.Serial, fingerprint, siding.Scrub(move.Return.Note, siding.MaxHeader), member)
}

// fitToSend looks at the body of a member: it must be there, and be what the move was made of.
func (t *tx) fitToSend(m *stored, move *siding.CampaignMove) (siding.MemberStatus, string, error) {
	from := move.Return.From
	switch {
	case from == (siding.Hash{}) && (move.Status != siding.MemberSent || move.Return.Body != nil):
		return move.Status, move.Text, nil
	case m.NoBody:
		return siding.MemberInvalid, textNoBody, nil
	case from == (siding.Hash{}):
		return move.Status, move.Text, nil
	}
	present, err := t.presentHash(m.id)
	if err == nil && present != from {
		return siding.MemberSkipped, textOtherBody, nil
	}
	return move.Status, move.Text, err
}

// setMember passes a pending member over.
func (t *tx) setMember(member int64, to siding.MemberStatus, text string) error {
	return t.guarded("UPDATE campaign_members SET status = ?, text = ? WHERE id = ? AND status = 'pending'",
		string(to), siding.Scrub(text, siding.MaxHeader), member)
}

// ReturnNext sends pending members back as they are; see [siding.Campaigner].
func (s *Store) ReturnNext(ctx context.Context, id siding.CampaignID, limit int) (int64, error) {
	var n int64
	err := s.onCampaign(ctx, "return-next", 0, id, func(t *tx, k *keptCampaign) (err error) {
		n, err = t.returnNext(k, limit)
		return err
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// batch is a row of members that are looked at together.
type batch struct {
	send, messages []int64 // rows of members, and their messages
	regrouped      bool    // some have another fingerprint than when they became members
	pass           []passed
}

type passed struct {
	member int64
	to     siding.MemberStatus
	text   string
}

func (t *tx) returnNext(k *keptCampaign, limit int) (int64, error) {
	now := fromMicros(t.now)
	allowed, _ := k.Allow(now)
	most := min(allowed, int64(limit))
	if most <= 0 {
		return 0, nil
	}
	var b batch
	err := t.query(b.take, `SELECT x.id, x.message, CASE WHEN m.id IS NULL OR NOT `+readable+` THEN 3 WHEN m.state <> 'dead' OR m.dead_at <> x.dead_at THEN 1
		WHEN m.no_body THEN 2 ELSE 0 END, x.fingerprint <> m.fingerprint
		FROM campaign_members x LEFT JOIN messages m ON m.id = x.message
		WHERE `+pendingOf+" ORDER BY x.id LIMIT ?", int64(k.ID), k.next, most)
	if err != nil {
		return 0, err
	}
	for _, p := range b.pass {
		if err := t.setMember(p.member, p.to, p.text); err != nil {
			return 0, err
		}
		k.PassOver(p.to, 1, now)
	}
	allowed, _ = k.Allow(now) // a stage that has become hopeless sends nothing more
	if n := min(int(allowed), len(b.send)); n < len(b.send) {
		b.send, b.messages = b.send[:n], b.messages[:n]
	}
	if len(b.send) > 0 {
		if err := t.sendSet(k, &b); err != nil {
			return 0, err
		}
	}
	return int64(len(b.pass) + len(b.send)), t.passed(k)
}

// take takes up a member as it is read.
func (b *batch) take(r *row) error {
	member := r.int(0)
	switch r.int(2) {
	case 0:
		b.send, b.messages = append(b.send, member), append(b.messages, r.int(1))
		b.regrouped = b.regrouped || r.bool(3)
	case 1:
		b.pass = append(b.pass, passed{member, siding.MemberSkipped, textElsewhere})
	case 2:
		b.pass = append(b.pass, passed{member, siding.MemberInvalid, textNoBody})
	default:
		b.pass = append(b.pass, passed{member, siding.MemberInvalid, textUnreadable})
	}
	return r.err
}

// sendSet sends members back that are known to be fit for it.
func (t *tx) sendSet(k *keptCampaign, b *batch) error {
	members, messages, n := b.send, b.messages, int64(len(b.send))
	if b.regrouped {
		err := t.send(`UPDATE campaign_members SET fingerprint = (SELECT m.fingerprint FROM messages m WHERE m.id = campaign_members.message)
			WHERE id = ANY (?::bigint[])`, members)
		if err != nil {
			return err
		}
	}
	sent, err := t.exec(`UPDATE campaign_members SET status = 'sent', serial = ? WHERE id = ANY (?::bigint[]) AND status = 'pending'`,
		k.Serial, members)
	if err == nil && sent != n {
		err = errNotAll(n, sent)
	}
	if err != nil {
		return err
	}
	k.Send(n, fromMicros(t.now))
	return t.redriveSet(messages, n, k.hand())
}

func errNotAll(n, changed int64) error {
	return fmt.Errorf("of %d rows that were to be changed, %d were", n, changed)
}

// ended records the end of a message that a campaign has sent: it has just become done, dead or discarded. Most messages
// were never sent back, and are in no campaign.
func (t *tx) ended(m *stored) error {
	if m.Redrives == 0 {
		return nil
	}
	status := siding.MemberOther
	switch m.State {
	case siding.StateDone:
		status = siding.MemberDone
	case siding.StateDiscarded:
		status = siding.MemberDiscarded
	case siding.StateDead:
	default:
		return nil
	}
	var member, campaign int64
	var serial int
	var fingerprint string
	found, err := t.one(func(r *row) { member, campaign, serial, fingerprint = r.int(0), r.int(1), r.counter(2), r.str(3) },
		"SELECT id, campaign, serial, fingerprint FROM campaign_members WHERE message = ? AND status = 'sent'", m.id)
	if err == nil && found {
		err = t.mustBeAlone()
	}
	if err != nil || !found {
		return err
	}
	if status == siding.MemberOther && fingerprint == m.fingerprint {
		status = siding.MemberSame
	}
	if err := t.guarded("UPDATE campaign_members SET status = ? WHERE id = ? AND status = 'sent'", string(status), member); err != nil {
		return err
	}
	k, err := t.campaign(siding.CampaignID(campaign))
	if err != nil {
		return err
	}
	k.Ended(status, serial, fromMicros(t.now))
	return nil
}
