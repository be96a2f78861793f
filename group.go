package siding

import "time"

// GroupKey names a group: the dead letters of a queue that have the same fingerprint, and with it the same cause.
type GroupKey struct {
	Queue       string `json:"queue"`
	Fingerprint string `json:"fingerprint"`
}

// GroupState is what operators have made of a group. The values are stored, so the list is append-only.
type GroupState string

// The states of a group.
const (
	GroupNew      GroupState = "new"      // nobody has looked at it yet, or it came back after it was resolved
	GroupKnown    GroupState = "known"    // somebody is at it
	GroupResolved GroupState = "resolved" // its fault is mended: what comes from now on is a regression
	GroupIgnored  GroupState = "ignored"  // nobody wants to hear of it
)

// GroupStates lists every state, in the order in which they were added.
func GroupStates() []GroupState {
	return []GroupState{GroupNew, GroupKnown, GroupResolved, GroupIgnored}
}

// Group is a kind of failure in a queue. What stores keep of it changes only by its methods, which are pure, and in the
// same write as the dead letters concerned.
type Group struct {
	Key   GroupKey   `json:"key"`
	Cause Cause      `json:"cause"`
	State GroupState `json:"state"`
	Note  string     `json:"note,omitempty"` // by an operator, scrubbed
	By    string     `json:"by,omitempty"`   // who changed State or Note last
	// ChangedAt is when that was; zero: never.
	ChangedAt time.Time `json:"changed_at,omitzero"`
	// RegressedAt is when it came back after it was resolved; zero: it has not, or an operator has marked it since.
	RegressedAt time.Time `json:"regressed_at,omitzero"`

	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	// Arrived is how often a message was set aside into it, ever; one that comes back counts again.
	Arrived int64 `json:"arrived"`
	Hours   Hours `json:"hours,omitzero"`
	// SampleID and SampleText are the event ID and the error text of the latest that arrived.
	SampleID   string `json:"sample_id"`
	SampleText string `json:"sample_text"`

	// Dead is how many of its dead letters are in the quarantine now. Stores fill it in when they are asked.
	Dead int64 `json:"-"`
}

// NewGroup gives the group of a first dead letter, to which it does not belong yet; see [Group.Arrive].
func NewGroup(key GroupKey, cause Cause) Group {
	return Group{Key: key, Cause: cause, State: GroupNew}
}

// maxSampleText bounds the text kept with a group, in bytes: a listing of thousands of groups shows a line of each.
const maxSampleText = 500

// Arrive takes in that a message was set aside into the group. A resolved group is new again: a regression.
func (g *Group) Arrive(id, text string, now time.Time) {
	if g.FirstSeen.IsZero() {
		g.FirstSeen = now
	}
	if g.State == GroupResolved {
		g.State, g.RegressedAt = GroupNew, now
	}
	g.LastSeen = later(g.LastSeen, now)
	g.Arrived++
	g.Hours.Add(now)
	g.SampleID, g.SampleText = id, Scrub(text, maxSampleText)
}

// Mark changes what operators make of the group: its state, where one is given, and its note, where one is given.
func (g *Group) Mark(state GroupState, note, by string, now time.Time) {
	if state != "" {
		g.State, g.RegressedAt = state, time.Time{}
	}
	if note != "" {
		g.Note = Scrub(note, MaxHeader)
	}
	g.By, g.ChangedAt = Scrub(by, MaxHeader), now
}

// Inherit takes over what was known of another group, whose dead letters belong to this one by a newer fingerprint. What
// operators made of this one stays, where they made anything of it; where groups of different states come together,
// it is new.
func (g *Group) Inherit(old Group) {
	switch {
	case g.FirstSeen.IsZero(): // the first that it hears of
		key := g.Key
		*g = old
		g.Key, g.Dead = key, 0
		return
	case g.State != old.State:
		g.State = GroupNew
	}
	if g.Note == "" {
		g.Note, g.By, g.ChangedAt = old.Note, old.By, old.ChangedAt
	}
	if old.FirstSeen.Before(g.FirstSeen) {
		g.FirstSeen = old.FirstSeen
	}
	if old.LastSeen.After(g.LastSeen) {
		g.LastSeen, g.SampleID, g.SampleText = old.LastSeen, old.SampleID, old.SampleText
	}
	g.Arrived += old.Arrived
	g.RegressedAt = later(g.RegressedAt, old.RegressedAt)
}

// Hours counts what arrived in each of the latest 24 hours (whole hours of UTC).
type Hours struct {
	Hour int64      `json:"hour"` // the latest, in hours since 1970
	N    [24]uint32 `json:"n"`    // by hour modulo 24
}

const hoursKept = int64(len(Hours{}.N))

// Add counts one arrival.
func (h *Hours) Add(now time.Time) {
	hour := now.Unix() / 3600
	if hour > h.Hour {
		for gone := max(h.Hour+1, hour-hoursKept+1); gone <= hour; gone++ {
			h.N[gone%hoursKept] = 0
		}
		h.Hour = hour
	}
	if hour > h.Hour-hoursKept && hour >= 0 {
		h.N[hour%hoursKept]++
	}
}

// Last gives how many arrived in the latest n hours, the one of now included; n is 1 to 24.
func (h Hours) Last(n int, now time.Time) (sum int64) {
	hour := now.Unix() / 3600
	for i := range min(int64(n), hoursKept) {
		if at := hour - i; at >= 0 && at <= h.Hour && at > h.Hour-hoursKept {
			sum += int64(h.N[at%hoursKept])
		}
	}
	return sum
}

// Trend says how the arrivals of the latest hour compare with those of the 23 before: rising, steady, falling, or quiet
// when none came in 24 hours.
func (h Hours) Trend(now time.Time) string {
	day, hour := h.Last(24, now), h.Last(1, now)
	before := day - hour // in 23 hours
	switch {
	case day == 0:
		return "quiet"
	case hour*23 > 2*before:
		return "rising"
	case hour*23*2 < before:
		return "falling"
	}
	return "steady"
}
