package postgres

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/siding-dev/siding"
)

// Check looks for rows that break a rule; see [siding.Operator]. The rules that concern one row are looked for in small
// steps, by ranges of row numbers; the sums each need one reading of their tables.
func (s *Store) Check(ctx context.Context) iter.Seq2[siding.Violation, error] {
	return func(yield func(siding.Violation, error) bool) {
		stopped := false
		give := func(v siding.Violation, err error) bool {
			stopped = stopped || !yield(v, err)
			return !stopped
		}
		for _, step := range []func(context.Context, func(siding.Violation, error) bool) error{s.checkRows, s.checkSums} {
			if err := step(ctx, give); err != nil && !stopped {
				give(siding.Violation{}, err)
				return
			}
			if stopped {
				return
			}
		}
	}
}

// checkStep is how many row numbers one reading covers.
const checkStep = 2000

// checkRows looks for rows that break a rule by themselves.
func (s *Store) checkRows(ctx context.Context, give func(siding.Violation, error) bool) error {
	for _, table := range slices.Concat(checkedTables, quarantineTables) {
		var last int64
		err := s.read(ctx, func(c *conn) (err error) {
			last, err = c.number("SELECT max(" + table.key + ") FROM " + table.name)
			return err
		})
		if err != nil {
			return err
		}
		for from := int64(0); from <= last; from += checkStep {
			found, err := s.checkRange(ctx, table, from, from+checkStep-1)
			if err != nil {
				return fmt.Errorf("check %s: %w", table.name, err)
			}
			for _, v := range found {
				if !give(v, nil) {
					return nil
				}
			}
		}
	}
	return nil
}

// checkRange looks through a range of a table, all rules in one snapshot.
func (s *Store) checkRange(ctx context.Context, table checkedTable, from, to int64) (found []siding.Violation, err error) {
	err = s.snapshot(ctx, func(c *conn) error {
		for _, rule := range table.rules {
			err := c.query(func(r *row) error {
				v := siding.Violation{Rule: rule.name, Queue: r.str(0), ID: r.str(1), Text: rule.text}
				if d := r.str(2); d != "" {
					v.Text += " (" + siding.Scrub(d, 256) + ")"
				}
				if r.err != nil {
					v.Text += ": " + r.err.Error()
				}
				found = append(found, v)
				return nil
			}, rule.query(table), from, to)
			if err != nil {
				return fmt.Errorf("%s: %w", rule.name, err)
			}
		}
		switch table.name {
		case "messages":
			return checkReadable(c, from, to, &found)
		case "campaigns":
			return checkCampaigns(c, from, to, &found)
		case "bodies":
			return checkBodies(c, from, to, &found)
		case "failure_groups":
			return checkGroups(c, from, to, &found)
		case "gates":
			return checkGates(c, from, to, &found)
		}
		return nil
	})
	return found, err
}

// checkReadable finds messages that cannot be read as one.
func checkReadable(c *conn, from, to int64, found *[]siding.Violation) error {
	return c.query(func(r *row) error {
		m := r.message()
		m.Queue = r.str(messageWidth + bodyWidth)
		r.body(messageWidth, &m.Message)
		if r.err != nil {
			*found = append(*found, siding.Violation{Rule: "row-unreadable", Queue: m.Queue, ID: m.ID, Text: r.err.Error()})
		}
		return nil
	}, "SELECT "+messageColumns+", b.content_type, b.headers, b.codec, b.key_id, NULL::bytea, q.name FROM messages m LEFT JOIN bodies b ON b.message = m.id LEFT JOIN queues q ON q.id = m.queue WHERE m.id BETWEEN ? AND ?", from, to)
}

// checkSums counts again what every write counts.
func (s *Store) checkSums(ctx context.Context, give func(siding.Violation, error) bool) error {
	for _, rule := range slices.Concat(sumRules, []checkRule{groupRule}) {
		var found []siding.Violation
		err := s.read(ctx, func(c *conn) error {
			return c.query(func(r *row) error {
				found = append(found, siding.Violation{Rule: rule.name, Queue: r.str(0), Text: rule.text + " (" + r.str(1) + ")"})
				return nil
			}, rule.where)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", rule.name, err)
		}
		for _, v := range found {
			if !give(v, nil) {
				return nil
			}
		}
	}
	return nil
}
