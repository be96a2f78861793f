package alert

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func notice(key, id, state string) Notice {
	return Notice{ID: id, Rule: RuleDead, State: state, At: epoch, key: key}
}

func TestANoticeIsClaimedByOneAndByAnotherWhenTheClaimRunsOut(t *testing.T) {
	t.Parallel()
	var s State
	s.Post(notice("a", "1", StateFiring), []string{SinkCommand, SinkWebhook}, epoch)
	sinks := []string{SinkCommand, SinkWebhook}
	require.Len(t, s.Claim(sinks, "one", epoch), 2)
	require.Empty(t, s.Claim(sinks, "two", epoch.Add(claimFor-1)))
	require.True(t, s.Next(sinks, epoch).IsZero(), "what another one sends is nothing to wait for")
	taken := s.Claim(sinks, "two", epoch.Add(claimFor))
	require.Len(t, taken, 2)
	s.Failed(Pending{Sink: SinkCommand, Notice: Notice{ID: "1"}, Claim: "one"}, 0, 0, epoch)
	require.Equal(t, "two", s.Pending[0].Claim, "a claim that has run out says nothing any more")
	s.Sent(taken[0])
	s.Sent(taken[1])
	require.Empty(t, s.Pending)
}

func TestANoticeThatFailedWaitsLongerEachTimeAndAsLongAsItsReceiverSays(t *testing.T) {
	t.Parallel()
	var s State
	sinks, now := []string{SinkWebhook}, epoch
	s.Post(notice("a", "1", StateFiring), sinks, now)
	for i, wait := range []time.Duration{2, 4, 8, 16, 32, 64, 128, 256, 300, 300} {
		taken := s.Claim(sinks, "me", now)
		require.Len(t, taken, 1)
		require.Equal(t, i, taken[0].Tries)
		s.Failed(taken[0], 0, 0, now)
		require.Equal(t, now.Add(wait*time.Second), s.Next(sinks, now))
		require.Empty(t, s.Claim(sinks, "me", now.Add(wait*time.Second-1)))
		now = now.Add(wait * time.Second)
	}
	s.Failed(s.Claim(sinks, "me", now)[0], time.Hour, 0, now)
	require.Equal(t, now.Add(time.Hour), s.Next(sinks, now))
	require.Equal(t, 1, s.Expire(epoch.Add(keptFor+1)), "for a week")
}

func TestTheEndOfAConditionTakesThePlaceOfItsBeginningWhereThatWasNotReceived(t *testing.T) {
	t.Parallel()
	var s State
	sinks := []string{SinkCommand, SinkWebhook}
	s.Post(notice("a", "1", StateFiring), sinks, epoch)
	taken := s.Claim(sinks, "me", epoch)
	s.Failed(taken[0], 0, 0, epoch) // the command
	s.Post(notice("a", "2", StateResolved), sinks, epoch)
	s.Post(notice("b", "3", StateFiring), sinks, epoch)
	var all []string
	for _, p := range s.Pending {
		all = append(all, p.Sink+" "+p.Notice.ID)
	}
	require.Equal(t, []string{"webhook 1", "command 2", "webhook 2", "command 3", "webhook 3"}, all)
	again := s.Claim(sinks, "me", epoch)
	require.Len(t, again, 2)
	require.Equal(t, "3", again[0].Notice.ID, "the command rests from the failure")
	require.Equal(t, "3", again[1].Notice.ID, "what is being sent to the webhook comes before what follows on it")
	s.Sent(taken[1])
	again = s.Claim(sinks, "me", epoch.Add(3*time.Second))
	require.Len(t, again, 2)
	require.Equal(t, []string{"2", "2"}, []string{again[0].Notice.ID, again[1].Notice.ID})
}

func TestGroupsThatCouldNotBeToldAreToldWithTheNext(t *testing.T) {
	t.Parallel()
	var s State
	for i := range 4 {
		n := Notice{ID: fmt.Sprint(i), Rule: RuleNewGroup, Queue: "q", State: StateFiring, GroupCount: 5, Since: epoch.Add(time.Duration(i)), key: string(RuleNewGroup)}
		for g := range 5 {
			n.Groups = append(n.Groups, GroupNotice{Fingerprint: fmt.Sprint(i, g), Cause: "template", Dead: 1})
		}
		s.Post(n, []string{SinkWebhook}, epoch)
	}
	require.Len(t, s.Pending, 1)
	n := s.Pending[0].Notice
	require.Equal(t, 20, n.GroupCount)
	require.Len(t, n.Groups, MaxGroups)
	require.Equal(t, "0 0", n.Groups[0].Fingerprint)
	require.Equal(t, epoch, n.Since)
	require.Contains(t, n.Text, "queue q: 20 new kinds of failure: ")
	require.Contains(t, n.Text, "and 17 more")
}

// Whatever is claimed, fails, is lost with its process or is replaced: what the receiver hears of a condition comes in its
// order, ends with what was posted last, and nothing is sent by two at once.
func TestNoticesArriveInOrderAndTheLastAlways(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var s State
		now := epoch
		made := 0
		lastPosted, lastSent := map[string]int{}, map[string]int{}
		var out []Pending // being sent
		sinks := []string{SinkWebhook}
		post := func(key string) {
			made++
			s.Post(notice(key, fmt.Sprint(made), StateFiring), sinks, now)
			lastPosted[key] = made
		}
		number := func(p Pending) (n int) {
			_, _ = fmt.Sscan(p.Notice.ID, &n)
			return n
		}
		received := func(p Pending) {
			require.GreaterOrEqual(t, number(p), lastSent[p.Key], "an older one after a newer one")
			lastSent[p.Key] = number(p)
			s.Sent(p)
		}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			live := out[:0]
			for _, p := range out {
				if now.Before(p.Until) { // a sender that takes longer than its claim is cut, or dead
					live = append(live, p)
				}
			}
			out = live
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				post(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"))
			case 1:
				for _, p := range s.Claim(sinks, "me", now) {
					for _, other := range out {
						require.NotEqual(t, p.Notice.ID, other.Notice.ID, "sent by two at once")
						require.NotEqual(t, p.Key, other.Key, "two of one condition at once")
					}
					out = append(out, p)
				}
			case 2:
				if len(out) > 0 {
					received(out[0])
					out = out[1:]
				}
			case 3:
				if len(out) > 0 {
					s.Failed(out[0], 0, 0, now)
					out = out[1:]
				}
			}
			s = throughStore(t, s)
			require.Zero(t, s.Expire(now))
		}
		for range 1000 {
			now = now.Add(time.Hour)
			for _, p := range s.Claim(sinks, "last", now) {
				received(p)
			}
		}
		require.Empty(t, s.Pending)
		require.Equal(t, lastPosted, lastSent)
	})
}
