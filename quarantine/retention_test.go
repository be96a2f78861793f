package quarantine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// notes is a store of one note, and of bodies that can be dropped.
type notes struct {
	siding.Quarantine
	note  siding.Note
	left  map[siding.DropWhat]int64
	drops []siding.Drop
	fail  error
}

func (n *notes) Note(_ context.Context, key string) (siding.Note, error) {
	if n.note.Value == nil || n.note.Key != key {
		return siding.Note{}, siding.ErrNotFound
	}
	return n.note, nil
}

func (n *notes) SetNote(_ context.Context, note siding.Note) (int64, error) {
	if note.Version != n.note.Version {
		return 0, siding.ErrConflict
	}
	note.Version++
	n.note = note
	return note.Version, nil
}

func (n *notes) DropBodies(_ context.Context, d siding.Drop) (int64, error) {
	if n.fail != nil {
		return 0, n.fail
	}
	n.drops = append(n.drops, d)
	k := min(int64(d.Limit), n.left[d.What])
	n.left[d.What] -= k
	return k, nil
}

func TestRetention(t *testing.T) {
	t.Parallel()
	t.Run("is written and read back as a note with durations", func(t *testing.T) {
		t.Parallel()
		s := &notes{}
		r, version, err := quarantine.ReadRetention(t.Context(), s, "q")
		require.NoError(t, err)
		require.True(t, r.Off(), "by default nothing is dropped")
		r.Dead = 720 * time.Hour
		require.NoError(t, quarantine.WriteRetention(t.Context(), s, "q", r, version))
		require.Equal(t, "setting/retention/q", s.note.Key)
		require.JSONEq(t, `{"dead":"720h0m0s","done":"","history":""}`, string(s.note.Value))
		again, version, err := quarantine.ReadRetention(t.Context(), s, "q")
		require.NoError(t, err)
		require.Equal(t, r, again)
		require.ErrorIs(t, quarantine.WriteRetention(t.Context(), s, "q", r, version+1), siding.ErrConflict)
		require.NoError(t, quarantine.WriteRetention(t.Context(), s, "q", quarantine.Retention{}, version))
		require.Nil(t, s.note.Value, "one that keeps all removes the note")
	})
	t.Run("that cannot be read or is out of bounds drops nothing", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			`{"dead":"-1h"}`, `{"dead":"0s"}`, `{"done":"1s"}`, `{"history":"30"}`, `{"dead":7}`, `[]`, `{"dead":"9000000h"}`, "\xff",
		} {
			var r quarantine.Retention
			require.Error(t, json.Unmarshal([]byte(text), &r), text)
			require.True(t, r.Off(), text)
			_, _, err := quarantine.ReadRetention(t.Context(), &notes{note: siding.Note{Key: "setting/retention/q", Value: []byte(text)}}, "q")
			require.ErrorContains(t, err, "nothing is dropped")
		}
		require.Error(t, quarantine.WriteRetention(t.Context(), &notes{}, "q", quarantine.Retention{Dead: 1}, 0))
		_, err := quarantine.Retention{Dead: -time.Hour}.Apply(t.Context(), &notes{}, "q", time.Now())
		require.Error(t, err)
	})
	t.Run("drops only what is set, in pieces, and says how many", func(t *testing.T) {
		t.Parallel()
		now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		s := &notes{left: map[siding.DropWhat]int64{siding.DropDead: 1201, siding.DropDone: 7, siding.DropHistory: 3}}
		got, err := quarantine.Retention{Dead: 24 * time.Hour, History: time.Hour}.Apply(t.Context(), s, "q", now)
		require.NoError(t, err)
		require.Equal(t, map[siding.DropWhat]int64{siding.DropDead: 1201, siding.DropHistory: 3}, got)
		require.Len(t, s.drops, 4)
		require.Equal(t, now.Add(-24*time.Hour), s.drops[0].Before)
		require.Equal(t, "q", s.drops[0].Queue)
		s.fail = errors.New("no room")
		_, err = quarantine.Retention{Dead: time.Hour}.Apply(t.Context(), s, "q", now)
		require.ErrorContains(t, err, "queue q")
	})
}
