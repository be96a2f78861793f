package postgres

import (
	"context"
	"errors"

	"github.com/siding-dev/siding"
)

var errUnwritten = errors.New("not written yet")

func (s *Store) RedriveSelected(context.Context, siding.Selection, int) (int64, error) {
	return 0, errUnwritten
}

func (s *Store) DropBodies(context.Context, siding.Drop) (int64, error) { return 0, errUnwritten }
