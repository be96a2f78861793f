package postgres

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/siding-dev/siding"
)

// memberQuery gives the members of an input from a place on: [shownColumns], where the record stands, what the calls for
// the message have cost, and the result.
const memberQuery = "SELECT " + shownColumns + `, s.ordinal, f.name, s.line, s.at_byte, coalesce(s.source_hash, s.hash),
	p.calls, p.maybe, p.unpriced, p.cost, p.maybe_max, p.input_tokens, p.output_tokens, p.cache_write_5m_tokens,
	p.cache_write_1h_tokens, p.cache_read_tokens, EXISTS (SELECT 1 FROM copies k WHERE k.origin = s.message)
	FROM members s LEFT JOIN messages m ON m.id = s.message LEFT JOIN last_errors e ON e.message = m.id
	LEFT JOIN queues q ON q.id = m.queue LEFT JOIN files f ON f.id = s.file LEFT JOIN spend p ON p.message = m.id
	WHERE s.input = ? AND s.ordinal >= ? ORDER BY s.ordinal LIMIT ?`

// InputMembers walks over the members of an input; see [siding.Manifest].
func (s *Store) InputMembers(ctx context.Context, id siding.InputID, o siding.MemberOptions) iter.Seq2[siding.Member, error] {
	return func(yield func(siding.Member, error) bool) {
		if err := s.hasInput(ctx, id); err != nil {
			yield(siding.Member{}, err)
			return
		}
		for from, more := int64(-1<<62), true; more; {
			page, err := s.memberPage(ctx, id, from)
			if err != nil {
				yield(siding.Member{}, err)
				return
			}
			if more = len(page) == pageSize; more {
				from = page[len(page)-1].Source.Ordinal + 1
			}
			for i := range page {
				p := &page[i]
				if p.err == nil && !p.wanted(o) {
					continue
				}
				if p.err == nil {
					p.err = s.read(ctx, func(c *conn) error { return p.complete(c, o.Bodies) })
				}
				if errors.Is(p.err, siding.ErrClosed) || ctx.Err() != nil {
					yield(siding.Member{}, errors.Join(p.err, ctx.Err()))
					return
				}
				if p.err != nil {
					p.err = fmt.Errorf("member %d of input %d: %w", p.Source.Ordinal, id, p.err)
					p.Member = siding.Member{}
				}
				if !yield(p.Member, p.err) {
					return
				}
			}
		}
	}
}

// memberRow is a member as it was read.
type memberRow struct {
	siding.Member
	stored stored
	copied bool // it was forwarded: calls for its copies are counted too
	err    error
}

func (s *Store) memberPage(ctx context.Context, id siding.InputID, from int64) (page []memberRow, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.query(func(r *row) error {
			var p memberRow
			if r.null(0) {
				r.err = errors.New("the message is missing")
			} else {
				p.stored = r.shown()
			}
			p.Source = r.source(shownWidth)
			sum := r.spendAt(shownWidth + 5)
			p.copied = r.bool(shownWidth + 15)
			p.add(sum)
			p.err = r.err
			page = append(page, p)
			return nil
		}, memberQuery, int64(id), from, pageSize)
	})
	return page, err
}

// add counts calls.
func (p *memberRow) add(sum spend) {
	p.Calls += sum.calls
	p.Usage, p.Cost = p.Usage.Add(sum.usage), p.Cost.Add(sum.cost)
	p.UnpricedCalls += sum.unpriced
}

func (p *memberRow) wanted(o siding.MemberOptions) bool {
	m := &p.stored
	return (len(o.States) == 0 || slices.Contains(o.States, m.State)) &&
		(o.Stale == "" || m.State == siding.StateDone && m.Digest != o.Stale)
}

// complete adds the result, and the body where it is asked for: one member's at a time, however large they are.
func (p *memberRow) complete(c *conn, body bool) (err error) {
	if body {
		if err := bodyOf(c, &p.stored); err != nil {
			return err
		}
	}
	p.Message = p.stored.Message
	if p.copied {
		err := c.query(func(r *row) error {
			p.add(r.spendAt(0))
			return r.err
		}, "SELECT "+spendColumns+" FROM copies k JOIN spend p ON p.message = k.copy WHERE k.origin = ?", p.stored.id)
		if err != nil {
			return err
		}
	}
	if p.stored.State == siding.StateDone {
		p.Result, err = resultOf(c, p.stored.id)
	}
	return err
}
