package alert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
)

var epoch = time.UnixMicro(1_700_000_000_000_000).UTC()

func newGroup(fingerprint string, dead int64, at time.Time) siding.Group {
	return siding.Group{
		Key: siding.GroupKey{Queue: "q", Fingerprint: fingerprint}, Cause: siding.CauseTemplate, State: siding.GroupNew,
		FirstSeen: at, LastSeen: at, Dead: dead, SampleText: "no field " + fingerprint, SampleID: "m-" + fingerprint,
	}
}

func rules(notices []Notice) (all []string) {
	for _, n := range notices {
		all = append(all, string(n.Rule)+" "+n.State)
	}
	return all
}

func TestTheNumberOfDeadLettersIsToldWhenItReachesTheLimitAndWhenItFallsBelow(t *testing.T) {
	t.Parallel()
	var s State
	at := func(dead int64, after time.Duration) []string {
		var notices []Notice
		s, notices = Evaluate(s, Rules{Dead: 10}, Figures{Queue: "q", Dead: dead}, epoch.Add(after))
		return rules(notices)
	}
	require.Empty(t, at(9, 0))
	require.Equal(t, []string{"dead firing"}, at(10, time.Second))
	require.Empty(t, at(50, 2*time.Second))
	require.Equal(t, []string{"dead resolved"}, at(9, 3*time.Second))
	require.Empty(t, at(10, 4*time.Second), "what comes and goes is not told again at once")
	require.Empty(t, at(9, 5*time.Second))
	require.Equal(t, []string{"dead firing"}, at(11, Pause+time.Second))
	require.Equal(t, []string{"dead resolved"}, at(0, Pause+2*time.Second))
	require.Empty(t, at(0, 3*Pause))
	require.Empty(t, s.Conditions, "what is over is forgotten")
}

func TestTheEndOfARunDoesNotWaitForThePause(t *testing.T) {
	t.Parallel()
	f := Figures{Queue: "q", Dead: 1}
	s, _ := Evaluate(State{}, Rules{Dead: 1}, f, epoch)
	s, _ = Evaluate(s, Rules{Dead: 1}, Figures{Queue: "q"}, epoch.Add(time.Second))
	f.Final = true
	_, notices := Evaluate(s, Rules{Dead: 1}, f, epoch.Add(2*time.Second))
	require.Equal(t, []string{"dead firing"}, rules(notices))
}

func TestAnotherLimitIsAnotherConditionAndTheOldOneStillEnds(t *testing.T) {
	t.Parallel()
	s, _ := Evaluate(State{}, Rules{Dead: 5}, Figures{Queue: "q", Dead: 7}, epoch)
	s, notices := Evaluate(s, Rules{Dead: 6}, Figures{Queue: "q", Dead: 7}, epoch.Add(time.Second))
	require.Equal(t, []string{"dead firing"}, rules(notices))
	_, notices = Evaluate(s, Rules{Dead: 6}, Figures{Queue: "q", Dead: 1}, epoch.Add(2*time.Second))
	require.Equal(t, []string{"dead resolved", "dead resolved"}, rules(notices))
	require.EqualValues(t, 5, notices[0].Limit)
	require.EqualValues(t, 6, notices[1].Limit)
}

func TestAShareOfMismatchesMeansSomethingFromAHundredMessagesOn(t *testing.T) {
	t.Parallel()
	figures := func(mismatches, ended int64) Figures {
		return Figures{Queue: "q", Ended: ended, Causes: []siding.CauseCount{{Cause: siding.CauseSchemaMismatch, Count: mismatches}, {Cause: siding.CauseRefused, Count: 50}}}
	}
	r := Rules{ReviewPrompt: true}
	s, notices := Evaluate(State{}, r, figures(5, 99), epoch)
	require.Empty(t, notices)
	final := figures(5, 99)
	final.Final = true
	_, notices = Evaluate(s, r, final, epoch)
	require.Equal(t, []string{"review_prompt firing"}, rules(notices), "at the end of a run it counts however few there were")
	s, notices = Evaluate(s, r, figures(2, 199), epoch)
	require.Equal(t, []string{"review_prompt firing"}, rules(notices))
	require.Contains(t, notices[0].Text, "2 of 199 answers")
	_, notices = Evaluate(s, r, figures(2, 200), epoch.Add(time.Second))
	require.Equal(t, []string{"review_prompt resolved"}, rules(notices))
}

func TestAHoldIsToldWithItsKeyAndOnlyWhereThisWorkGoesThrough(t *testing.T) {
	t.Parallel()
	mine, other := siding.GateKey{Scope: siding.ScopeAccount, Name: "claude/1f2e3d4c"}, siding.GateKey{Scope: siding.ScopeLane, Name: "webhook/example.org"}
	held := func(key siding.GateKey) siding.Gate {
		return siding.Gate{Key: key, Hold: &siding.Hold{Kind: siding.HoldFault, Cause: siding.CauseAccount, Text: "no \x1b[31mcredit", Since: epoch}}
	}
	f := Figures{Queue: "q", Watched: siding.GateKeys{Account: mine}, Gates: []siding.Gate{held(other), held(mine)}}
	s, notices := Evaluate(State{}, Rules{Hold: true}, f, epoch.Add(time.Second))
	require.Len(t, notices, 1)
	n := notices[0]
	require.Equal(t, HoldNotice{Scope: mine.Scope, Name: mine.Name, Kind: siding.HoldFault, Cause: siding.CauseAccount, Text: `no \x1b[31mcredit`}, *n.Hold)
	require.Equal(t, `siding: queue q: account:claude/1f2e3d4c is held (fault): no \x1b[31mcredit`, n.Text)
	require.Equal(t, epoch, n.Since)

	elsewhere := Figures{Queue: "q", Watched: siding.GateKeys{Account: other}, Gates: f.Gates[1:]}
	s, notices = Evaluate(s, Rules{Hold: true}, elsewhere, epoch.Add(2*time.Second))
	require.Empty(t, notices, "another recipe's work says nothing of a hold that goes on")
	elsewhere.Gates = []siding.Gate{{Key: mine}}
	_, notices = Evaluate(s, Rules{Hold: true}, elsewhere, epoch.Add(3*time.Second))
	require.Equal(t, []string{"hold resolved"}, rules(notices))
	require.Contains(t, notices[0].Text, "resolved: queue q: account:claude/1f2e3d4c is not held any more")
}

func TestNewGroupsAreToldTogetherAndEachOnce(t *testing.T) {
	t.Parallel()
	var many []siding.Group
	for i := range 2000 {
		many = append(many, newGroup(fmt.Sprintf("2-%012d", i), int64(2000-i), epoch.Add(time.Duration(i))))
	}
	r := Rules{NewGroup: true}
	s, notices := Evaluate(State{}, r, Figures{Queue: "q", New: many, Simulated: true}, epoch.Add(time.Second))
	require.Len(t, notices, 1)
	n := notices[0]
	require.Equal(t, 2000, n.GroupCount)
	require.Len(t, n.Groups, MaxGroups)
	require.Equal(t, "siding (simulated): queue q: 2000 new kinds of failure: template: no field 2-000000000000 (2000); "+
		"template: no field 2-000000000001 (1999); template: no field 2-000000000002 (1998); and 1997 more", n.Text)
	s = throughStore(t, s)

	again := append(slices.Clone(many), newGroup("2-late", 1, epoch.Add(2*time.Second)), newGroup("2-empty", 0, epoch.Add(2*time.Second)))
	s, notices = Evaluate(s, r, Figures{Queue: "q", New: again}, epoch.Add(3*time.Second))
	require.Empty(t, notices, "further ones are gathered for a while")
	s, notices = Evaluate(s, r, Figures{Queue: "q", New: again}, epoch.Add(time.Second+GroupPause))
	require.Len(t, notices, 1)
	require.Equal(t, 1, notices[0].GroupCount)
	s, notices = Evaluate(s, r, Figures{Queue: "q", New: again, Final: true}, epoch.Add(5*GroupPause))
	require.Empty(t, notices)

	again[len(again)-1].Dead = 3 // it was sent back before anybody was told, and has come again
	_, notices = Evaluate(s, r, Figures{Queue: "q", New: again}, epoch.Add(6*GroupPause))
	require.Len(t, notices, 1)
	require.Equal(t, "2-empty", notices[0].Groups[0].Fingerprint)
}

func TestAGroupThatComesBackAfterItWasResolvedIsToldAsARegression(t *testing.T) {
	t.Parallel()
	r := Rules{NewGroup: true}
	g := newGroup("2-a", 1, epoch)
	s, _ := Evaluate(State{}, r, Figures{Queue: "q", New: []siding.Group{g}}, epoch)
	s, notices := Evaluate(s, r, Figures{Queue: "q"}, epoch.Add(time.Hour)) // resolved
	require.Empty(t, notices)
	g.RegressedAt = epoch.Add(2 * time.Hour)
	s, notices = Evaluate(s, r, Figures{Queue: "q", New: []siding.Group{g}}, epoch.Add(2*time.Hour))
	require.Len(t, notices, 1)
	require.True(t, notices[0].Groups[0].Regression)
	require.Contains(t, notices[0].Text, "a new kind of failure: back after it was resolved (regression): template")
	// Resolved and back again between two looks.
	g.RegressedAt = epoch.Add(3 * time.Hour)
	_, notices = Evaluate(s, r, Figures{Queue: "q", New: []siding.Group{g}}, epoch.Add(3*time.Hour))
	require.Len(t, notices, 1)
}

func TestGroupsThatWereToldAreNotToldAgainUnderNewFingerprintsNorWhenThereAreTooMany(t *testing.T) {
	t.Parallel()
	r := Rules{NewGroup: true}
	var groups []siding.Group
	for i := range maxTold + 10 {
		groups = append(groups, newGroup(fmt.Sprintf("1-%d", i), 1, epoch.Add(time.Duration(i)*time.Microsecond)))
	}
	s, notices := Evaluate(State{}, r, Figures{Queue: "q", New: groups}, epoch.Add(time.Hour))
	require.Len(t, notices, 1)
	require.LessOrEqual(t, len(s.Groups.New), maxTold)
	s.Groups.Version = "1"
	for i := range groups {
		groups[i].Key.Fingerprint = fmt.Sprintf("2-%d", i)
	}
	s, notices = Evaluate(throughStore(t, s), r, Figures{Queue: "q", New: groups}, epoch.Add(2*time.Hour))
	require.Empty(t, notices)
	_, notices = Evaluate(s, r, Figures{Queue: "q", New: append(groups, newGroup("2-new", 1, epoch.Add(time.Hour)))}, epoch.Add(3*time.Hour))
	require.Len(t, notices, 1)
	require.Equal(t, 1, notices[0].GroupCount)
}

// throughStore gives the state as the store gives it back.
func throughStore(t require.TestingT, s State) State {
	value, err := s.encode()
	require.NoError(t, err)
	require.LessOrEqual(t, len(value), siding.MaxNote)
	back, err := decode(value)
	require.NoError(t, err)
	return back
}

// What a condition is told to be alternates, is true when it is told, and is told seldom.
func TestEachConditionIsToldOnceWhenItBeginsAndOnceWhenItEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rules{Dead: rapid.Int64Range(1, 3).Draw(t, "limit"), Hold: true, ReviewPrompt: true, NewGroup: true}
		gate := siding.GateKey{Scope: siding.ScopeLane, Name: "lane"}
		var s State
		now := epoch
		firing := map[string]bool{}
		fired := map[string]time.Time{}
		told := map[string]bool{}
		var last Figures
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(1, int64(2*time.Minute)).Draw(t, "passes")).Truncate(time.Microsecond) + time.Microsecond)
			f := Figures{Queue: "q", Dead: rapid.Int64Range(0, 4).Draw(t, "dead"), Ended: 1000, Watched: siding.GateKeys{Lane: gate}}
			f.Causes = []siding.CauseCount{{Cause: siding.CauseSchemaMismatch, Count: rapid.Int64Range(9, 12).Draw(t, "mismatches")}}
			if rapid.Bool().Draw(t, "held") {
				f.Gates = []siding.Gate{{Key: gate, Hold: &siding.Hold{Since: now}}}
			}
			f.New = last.New
			if rapid.Bool().Draw(t, "another group") {
				f.New = append(slices.Clone(last.New), newGroup(fmt.Sprint(len(last.New)), 1, now))
			}
			last = f
			before := throughStore(t, s)
			after, notices := Evaluate(s, r, f, now)
			require.Equal(t, before, throughStore(t, s), "it changes nothing but what it gives back")
			s = throughStore(t, after)
			holds := map[string]bool{
				"dead": f.Dead >= r.Dead, "hold": len(f.Gates) > 0, "review_prompt": f.Causes[0].Count > 10,
			}
			for _, n := range notices {
				if n.Rule == RuleNewGroup {
					for _, g := range n.Groups {
						require.False(t, told[g.Fingerprint], "told twice")
						told[g.Fingerprint] = true
					}
					continue
				}
				key := string(n.Rule)
				require.NotEqual(t, firing[key], n.State == StateFiring, "%s is told to be what it was told before", key)
				require.Equal(t, holds[key], n.State == StateFiring)
				if firing[key] = n.State == StateFiring; firing[key] {
					require.False(t, now.Before(fired[key].Add(Pause)), "%s fires too often", key)
					fired[key] = now
				}
			}
			for key, on := range firing {
				require.False(t, on && !holds[key], "the end of %s was not told", key)
			}
		}
		// Whatever happened, the end of the run tells what is so.
		last.Final = true
		_, notices := Evaluate(s, r, last, now.Add(time.Second))
		for _, n := range notices {
			if n.Rule == RuleNewGroup {
				for _, g := range n.Groups {
					told[g.Fingerprint] = true
				}
				continue
			}
			firing[string(n.Rule)] = n.State == StateFiring
		}
		require.Equal(t, last.Dead >= r.Dead, firing["dead"])
		require.Equal(t, len(last.Gates) > 0, firing["hold"])
		require.GreaterOrEqual(t, len(told), min(len(last.New), MaxGroups))
	})
}

func TestAnEvaluationThatSeesNothingNewChangesNothing(t *testing.T) {
	t.Parallel()
	f := Figures{Queue: "q", Dead: 3, New: []siding.Group{newGroup("2-a", 1, epoch)}}
	r := Rules{Dead: 2, NewGroup: true}
	s, notices := Evaluate(State{}, r, f, epoch)
	require.Len(t, notices, 2)
	again, notices := Evaluate(throughStore(t, s), r, f, epoch.Add(time.Hour))
	require.Empty(t, notices)
	require.Equal(t, throughStore(t, s), throughStore(t, again))
}

func TestWhatComesFromOutsideIsHarmlessAndBoundedInANotice(t *testing.T) {
	t.Parallel()
	hostile := strings.Repeat("\x1b]0;owned\x07\u202e\x00\xff\n\"<&>", 10_000)
	var groups []siding.Group
	for i := range maxTold + 1 {
		g := newGroup(fmt.Sprintf("2-%d", i), 1, epoch.Add(time.Duration(i)*time.Microsecond))
		g.SampleText, g.SampleID, g.Cause = hostile, hostile, siding.Cause(hostile)
		groups = append(groups, g)
	}
	s, now := State{}, epoch
	var all []Notice
	for i := range 2 * maxPending {
		now = now.Add(time.Hour)
		key := siding.GateKey{Scope: siding.ScopeLane, Name: fmt.Sprint(i) + hostile}
		f := Figures{
			Queue: "q", New: groups, Watched: siding.GateKeys{Lane: key},
			Gates: []siding.Gate{{Key: key, Hold: &siding.Hold{Kind: "x", Text: hostile, Since: now}}},
		}
		var notices []Notice
		s, notices = Evaluate(s, Rules{NewGroup: true, Hold: true}, f, now)
		for _, n := range notices {
			s.Post(n, []string{SinkCommand, SinkWebhook}, now)
		}
		s.Expire(now)
		all = append(all, notices...)
		s = throughStore(t, s)
	}
	for _, n := range all {
		require.Less(t, len(n.Text), 1500)
		require.Equal(t, siding.Scrub(n.Text, 4096), n.Text)
		require.NotContains(t, n.Text, "\n")
		d, err := n.delivery(0)
		require.NoError(t, err)
		require.Less(t, len(d.Body), 64<<10)
		for _, v := range Variables(d) {
			require.NotContains(t, v, "\x00")
		}
	}
}
