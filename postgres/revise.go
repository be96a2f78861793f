package postgres

import (
	"context"

	"github.com/siding-dev/siding"
)

// hand is who changes a message by hand: the operator, as far as the program knows, and the campaign that does it.
type hand struct {
	by       string
	campaign siding.CampaignID
}

func handOf(ctx context.Context) hand { return hand{by: siding.ActOf(ctx).By} }

// revision is what goes to a message's history beside its deliveries.
type revision struct {
	hand
	kind   siding.RevisionKind
	note   string
	digest string
	// What the message is about to lose, and the history keeps.
	answer, body, headers bool
}

// revise writes a revision.
func (t *tx) revise(message int64, v revision) error {
	v.note = siding.Scrub(v.note, siding.MaxHeader)
	if !v.answer && !v.body && !v.headers {
		err := t.send("INSERT INTO revisions (message, at, kind, note, operator, campaign) VALUES (?, ?, ?, ?, ?, ?)",
			message, t.now, string(v.kind), v.note, v.by, int64(v.campaign))
		return err
	}
	err := t.send(`INSERT INTO revisions (message, at, kind, note, operator, campaign, codec, key_id, body, headers, result, digest)
		SELECT b.message, ?::bigint, ?::text, ?::text, ?::text, ?::bigint, b.codec, b.key_id, CASE WHEN ?::boolean THEN b.body END,
			CASE WHEN ?::boolean THEN b.headers END, r.result, ?::text
		FROM bodies b LEFT JOIN results r ON r.message = b.message AND ?::boolean WHERE b.message = ?`,
		t.now, string(v.kind), v.note, v.by, int64(v.campaign), v.body, v.headers, text(v.digest), v.answer, message)
	return err
}
