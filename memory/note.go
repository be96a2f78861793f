package memory

import (
	"bytes"
	"context"
	"fmt"

	"github.com/siding-dev/siding"
)

// Note gives a small value that a program keeps; see [siding.Quarantine].
func (s *Store) Note(ctx context.Context, key string) (siding.Note, error) {
	var n siding.Note
	err := s.read(ctx, func(x *tx) error {
		if n = x.notes[key]; n.Value == nil {
			return fmt.Errorf("the note %q: %w", siding.Scrub(key, 128), siding.ErrNotFound)
		}
		n.Value = copied(n.Value)
		return nil
	})
	if err != nil {
		return siding.Note{}, err
	}
	return n, nil
}

// SetNote writes a note; see [siding.Quarantine].
func (s *Store) SetNote(ctx context.Context, n siding.Note) (int64, error) {
	if err := n.Check(); err != nil {
		return 0, err
	}
	n.Value = copied(n.Value)
	err := s.write(ctx, "SetNote", func(x *tx) error {
		old := x.notes[n.Key]
		if n.Version != old.Version && (n.Version != 0 || old.Value != nil) {
			return fmt.Errorf("the note %q has been changed since it was read: %w", n.Key, siding.ErrConflict)
		}
		n.Version, n.ChangedAt = old.Version+1, x.now
		set(x, x.notes, n.Key, n)
		if n.Setting() && (!bytes.Equal(old.Value, n.Value) || (old.Value == nil) != (n.Value == nil)) {
			x.did(siding.ActOf(ctx), siding.ActionSetting, n.Queue(), n.Change(old), 1)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n.Version, nil
}
