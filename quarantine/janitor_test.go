package quarantine

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/memory"
)

// cellar is a store in which so many bodies are due, and that notes what is dropped.
type cellar struct {
	*memory.Store

	mu    sync.Mutex
	due   int64
	takes time.Duration // to drop a piece
	fail  error
	drops []siding.Drop
	at    []time.Time
	acts  []siding.Act
}

func newCellar(t *testing.T, due int64) *cellar {
	t.Helper()
	c := &cellar{Store: memory.Open(memory.Options{}), due: due}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (c *cellar) DropBodies(ctx context.Context, d siding.Drop) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return 0, c.fail
	}
	time.Sleep(c.takes)
	c.drops, c.at, c.acts = append(c.drops, d), append(c.at, time.Now()), append(c.acts, siding.ActOf(ctx))
	n := min(c.due, int64(d.Limit))
	c.due -= n
	return n, nil
}

func (c *cellar) seen() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.drops)
}

// rest lets time pass, and everybody who is woken by then come to rest again.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// tending runs janitors until the test of the bubble is over.
func (c *cellar) tending(t *testing.T, n int) (said *[]string) {
	t.Helper()
	said = &[]string{}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			Janitor{Store: c, Queue: "q", Say: func(text string) {
				c.mu.Lock()
				defer c.mu.Unlock()
				*said = append(*said, text)
			}}.Run(ctx)
		})
	}
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return said
}

func TestNothingIsDroppedWithoutASetting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCellar(t, 10_000)
		c.tending(t, 2)
		require.NoError(t, WriteRetention(t.Context(), c, "another", Retention{Dead: time.Hour}, 0))
		rest(100 * 24 * time.Hour)
		require.Zero(t, c.seen())
		_, err := c.Note(t.Context(), turnKey("q"))
		require.ErrorIs(t, err, siding.ErrNotFound, "nothing is written either")
	})
}

func TestASettingIsAppliedWithinAMinuteByOneInPiecesWithRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCellar(t, 3*dropPiece+1)
		c.takes = 100 * time.Millisecond
		said := c.tending(t, 3)
		rest(90 * time.Second)
		set := time.Now()
		require.NoError(t, WriteRetention(t.Context(), c, "q", Retention{Dead: 30 * 24 * time.Hour}, 0))
		rest(JanitorEvery)
		require.Len(t, c.drops, 4)
		for i, d := range c.drops {
			require.Equal(t, siding.DropDead, d.What)
			require.Equal(t, "q", d.Queue)
			require.Equal(t, dropPiece, d.Limit)
			require.WithinDuration(t, set.Add(-30*24*time.Hour), d.Before, JanitorEvery)
			require.Equal(t, "siding", c.acts[i].By)
			require.Equal(t, c.acts[0].ID, c.acts[i].ID, "one turn is one entry of the audit trail")
			if i > 0 {
				require.GreaterOrEqual(t, c.at[i].Sub(c.at[i-1]), 200*time.Millisecond, "others write in between")
			}
		}
		before := c.seen()
		rest(10 * JanitorEvery)
		require.LessOrEqual(t, c.seen()-before, 11, "one of three looks each minute")
		require.GreaterOrEqual(t, c.seen()-before, 9)
		require.Empty(t, *said)
	})
}

func TestATurnThatTakesTooLongGoesOnInTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCellar(t, 100*dropPiece)
		c.takes = time.Second
		require.NoError(t, WriteRetention(t.Context(), c, "q", Retention{History: time.Hour}, 0))
		said := c.tending(t, 1)
		rest(JanitorEvery - time.Second)
		require.LessOrEqual(t, c.seen(), 26)
		rest(10 * JanitorEvery)
		require.Zero(t, c.due)
		require.Empty(t, *said)
	})
}

func TestWhatGoesWrongIsSaidOnceAndTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCellar(t, 5)
		c.fail = errors.New("disk \x1b full")
		_, err := c.SetNote(t.Context(), siding.Note{Key: RetentionKey("q"), Value: []byte(`{"dead":"soon"}`)})
		require.NoError(t, err)
		said := c.tending(t, 1)
		rest(5 * JanitorEvery)
		require.Len(t, *said, 1)
		require.Contains(t, (*said)[0], "nothing is dropped")
		require.NoError(t, WriteRetention(t.Context(), c, "q", Retention{Done: time.Hour}, 1))
		rest(5 * JanitorEvery)
		require.Len(t, *said, 2)
		require.Contains(t, (*said)[1], `disk \x1b full`)
		c.mu.Lock()
		c.fail = nil
		c.mu.Unlock()
		rest(2 * JanitorEvery)
		require.Zero(t, c.due)
		require.Len(t, *said, 2)
	})
}

func TestAJanitorThatDiedKeepsItsTurnForAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCellar(t, 5)
		require.NoError(t, WriteRetention(t.Context(), c, "q", Retention{Done: time.Hour}, 0))
		now, err := c.Now(t.Context())
		require.NoError(t, err)
		mine, err := Janitor{Store: c, Queue: "q"}.take(t.Context(), "dead", now)
		require.NoError(t, err)
		require.True(t, mine)
		c.tending(t, 1)
		rest(JanitorEvery - time.Second)
		require.Zero(t, c.seen())
		rest(JanitorEvery)
		require.Positive(t, c.seen())
	})
}
