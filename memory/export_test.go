package memory

import (
	"context"

	"github.com/siding-dev/siding"
)

// Outdate gives the dead letters of a group another fingerprint, and what is known of it to that one's group.
func (s *Store) Outdate(k siding.GroupKey, fingerprint string) {
	_ = s.write(context.Background(), "outdate", func(x *tx) error {
		x.regroup(k, 1<<30, func(siding.Cause, string) string { return fingerprint })
		return nil
	})
}
