package quarantine

// Diff is what repairs change of a message, for people and for --json. Its texts are shortened around the change and
// safe to show: what is invisible or broken is written as \xNN or \uNNNN.
type Diff struct {
	Changes []Change `json:"changes"`
	// More is how many changes are not listed.
	More int `json:"more"`
}

// Change is one place in which a message changes.
type Change struct {
	// Pointer is the JSON Pointer of a field of the body, where the body can be taken apart before and after; nil: none.
	Pointer *string `json:"pointer"`
	// Header is the name of a header; empty: none.
	Header string `json:"header,omitempty"`
	// Offset is the place in the earlier body in bytes, from 0, and Line the line from 1, of a change that is of no field
	// and no header; nil and 0: no place.
	Offset *int64 `json:"offset"`
	Line   int64  `json:"line,omitempty"`
	// Old and New are what stands there before and after; nil: nothing.
	Old *Side `json:"old"`
	New *Side `json:"new"`
}

// Side is a text with the part that differs in its middle.
type Side struct {
	Lead string `json:"lead"` // begins with … where it does not begin at the beginning
	Text string `json:"text"` // what differs; … in its middle stands for what is left out
	Tail string `json:"tail"` // ends in … where it does not end at the end
	// Bytes is the length of the whole value.
	Bytes int `json:"bytes"`
}

// String gives the text in one piece.
func (s Side) String() string { return s.Lead + s.Text + s.Tail }

// Compare gives what changes between two drafts of a message.
func Compare(before, after Draft) Diff { return Diff{Changes: []Change{}} }
