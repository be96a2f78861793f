package siding_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

var groupTime = time.Date(2026, 5, 4, 10, 20, 0, 0, time.UTC)

func TestAGroup(t *testing.T) {
	t.Parallel()
	key := siding.GroupKey{Queue: "q", Fingerprint: "2-abc"}

	t.Run("remembers the first and the latest that arrived", func(t *testing.T) {
		t.Parallel()
		g := siding.NewGroup(key, siding.CauseTimeout)
		g.Arrive("a", "first", groupTime)
		g.Arrive("b", "second\x1b[2J", groupTime.Add(time.Minute))
		require.Equal(t, siding.GroupNew, g.State)
		require.Equal(t, groupTime, g.FirstSeen)
		require.Equal(t, groupTime.Add(time.Minute), g.LastSeen)
		require.EqualValues(t, 2, g.Arrived)
		require.Equal(t, "b", g.SampleID)
		require.NotContains(t, g.SampleText, "\x1b")
	})

	t.Run("stays small whatever the text", func(t *testing.T) {
		t.Parallel()
		g := siding.NewGroup(key, siding.CauseTimeout)
		g.Arrive("a", strings.Repeat("x", 1<<20), groupTime)
		text, err := json.Marshal(g)
		require.NoError(t, err)
		require.Less(t, len(text), 2000)
	})

	t.Run("that was resolved and comes back is a regression until somebody marks it", func(t *testing.T) {
		t.Parallel()
		g := siding.NewGroup(key, siding.CauseTimeout)
		g.Arrive("a", "x", groupTime)
		g.Mark(siding.GroupResolved, "mended by the new template", "ann", groupTime)
		require.Equal(t, siding.GroupResolved, g.State)
		later := groupTime.Add(time.Hour)
		g.Arrive("b", "x", later)
		require.Equal(t, siding.GroupNew, g.State)
		require.Equal(t, later, g.RegressedAt)
		require.Equal(t, "mended by the new template", g.Note, "the note says what was thought to be the remedy")
		g.Mark(siding.GroupKnown, "", "bob", later)
		require.True(t, g.RegressedAt.IsZero())
		require.Equal(t, "mended by the new template", g.Note)
		require.Equal(t, "bob", g.By)
	})

	t.Run("that is known or ignored stays so", func(t *testing.T) {
		t.Parallel()
		for _, state := range []siding.GroupState{siding.GroupKnown, siding.GroupIgnored} {
			g := siding.NewGroup(key, siding.CauseTimeout)
			g.Mark(state, "", "ann", groupTime)
			g.Arrive("b", "x", groupTime)
			require.Equal(t, state, g.State)
			require.True(t, g.RegressedAt.IsZero())
		}
	})
}

func TestAGroupInherits(t *testing.T) {
	t.Parallel()
	old := siding.NewGroup(siding.GroupKey{Queue: "q", Fingerprint: "1-abc"}, siding.CauseTimeout)
	old.Arrive("a", "x", groupTime)
	old.Mark(siding.GroupIgnored, "not ours", "ann", groupTime)
	other := siding.NewGroup(siding.GroupKey{Queue: "q", Fingerprint: "1-def"}, siding.CauseTimeout)
	other.Arrive("b", "y", groupTime.Add(-time.Hour))

	g := siding.NewGroup(siding.GroupKey{Queue: "q", Fingerprint: "2-abc"}, siding.CauseTimeout)
	g.Inherit(old)
	require.Equal(t, "2-abc", g.Key.Fingerprint)
	require.Equal(t, siding.GroupIgnored, g.State, "the first that it hears of")
	require.Equal(t, "not ours", g.Note)

	g.Inherit(other)
	require.Equal(t, siding.GroupNew, g.State, "what comes together from an ignored and a new group has to be looked at")
	require.Equal(t, groupTime.Add(-time.Hour), g.FirstSeen)
	require.Equal(t, groupTime, g.LastSeen)
	require.Equal(t, "a", g.SampleID)
	require.EqualValues(t, 2, g.Arrived)
}

// The ring of hours says the same as a list of all arrivals would.
func TestHoursCountAsAListWould(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h siding.Hours
		var all []time.Time
		now := groupTime
		for range rapid.IntRange(0, 60).Draw(t, "arrivals") {
			now = now.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "minutes")) * time.Minute)
			h.Add(now)
			all = append(all, now)
		}
		now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(t, "until")) * time.Minute)
		for _, n := range []int{1, 2, 24} {
			var want int64
			for _, at := range all {
				if now.Unix()/3600-at.Unix()/3600 < int64(n) {
					want++
				}
			}
			require.Equal(t, want, h.Last(n, now), "the last %d hours", n)
		}
	})
}

func TestATrendIsInWords(t *testing.T) {
	t.Parallel()
	fill := func(before, hour int) siding.Hours {
		var h siding.Hours
		for i := range before {
			h.Add(groupTime.Add(-time.Duration(23-i%23) * time.Hour))
		}
		for range hour {
			h.Add(groupTime)
		}
		return h
	}
	require.Equal(t, "quiet", fill(0, 0).Trend(groupTime))
	require.Equal(t, "rising", fill(0, 1).Trend(groupTime))
	require.Equal(t, "rising", fill(23, 5).Trend(groupTime))
	require.Equal(t, "steady", fill(46, 2).Trend(groupTime))
	require.Equal(t, "falling", fill(230, 1).Trend(groupTime))
	require.Equal(t, "quiet", fill(230, 9).Trend(groupTime.Add(25*time.Hour)))
}
