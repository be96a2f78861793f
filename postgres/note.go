package postgres

import (
	"bytes"
	"context"
	"fmt"

	"github.com/siding-dev/siding"
)

// Note gives a small value that a program keeps; see [siding.Quarantine].
func (s *Store) Note(ctx context.Context, key string) (siding.Note, error) {
	var n siding.Note
	err := s.read(ctx, func(c *conn) (err error) {
		n, err = c.note(key)
		return err
	})
	if err == nil && n.Value == nil {
		err = fmt.Errorf("the note %q: %w", siding.Scrub(key, 128), siding.ErrNotFound)
	}
	if err != nil {
		return siding.Note{}, err
	}
	return n, nil
}

// note reads a note; its value is nil where there is none.
func (c *conn) note(key string) (n siding.Note, err error) {
	n.Key = key
	_, err = c.one(func(r *row) {
		n.Version, n.ChangedAt = r.int(0), r.time(1)
		if n.Value = r.blob(2); n.Value == nil && !r.bool(3) {
			n.Value = []byte{}
		}
	}, "SELECT version, changed_at, value, value IS NULL FROM notes WHERE key = ?", key)
	return n, err
}

// SetNote writes a note; see [siding.Quarantine].
func (s *Store) SetNote(ctx context.Context, n siding.Note) (int64, error) {
	if err := n.Check(); err != nil {
		return 0, err
	}
	act := siding.ActOf(ctx)
	var version int64
	err := s.write(ctx, "set-note", len(n.Value), func(t *tx) error {
		old, err := t.note(n.Key)
		if err != nil {
			return err
		}
		if n.Version != old.Version && (n.Version != 0 || old.Value != nil) {
			return fmt.Errorf("the note %q has been changed since it was read: %w", n.Key, siding.ErrConflict)
		}
		version = old.Version + 1
		var value any
		if n.Value != nil {
			value = n.Value
		}
		err = t.send(`INSERT INTO notes (key, value, version, changed_at) VALUES (?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET value = excluded.value, version = excluded.version, changed_at = excluded.changed_at`,
			n.Key, value, version, t.now)
		if err != nil || !n.Setting() || bytes.Equal(old.Value, n.Value) && (old.Value == nil) == (n.Value == nil) {
			return err
		}
		return t.did(act, siding.ActionSetting, n.Queue(), n.Change(old), 1)
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}
