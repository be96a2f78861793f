package quarantine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

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
	// Bytes is the length of the whole value; of a change without a field, of what differs.
	Bytes int `json:"bytes"`
}

// String gives the text in one piece.
func (s Side) String() string { return s.Lead + s.Text + s.Tail }

// maxChanges is how many changes a diff lists.
const maxChanges = 50

// Compare gives what changes between two drafts of a message: by fields, where both bodies can be taken apart, else by the
// places in which their bytes differ. It takes time in proportion to the bodies.
func Compare(before, after Draft) Diff {
	d := Diff{Changes: []Change{}}
	d.headers(before.Headers, after.Headers)
	switch {
	case bytes.Equal(before.Body, after.Body):
	case isJSON(before.ContentType) && syntax(before.Body) == nil && syntax(after.Body) == nil:
		d.fields(before.Body, after.Body)
	default:
		d.places(before.Body, after.Body)
	}
	return d
}

func (d *Diff) add(c Change) {
	if len(d.Changes) == maxChanges {
		d.More++
		return
	}
	d.Changes = append(d.Changes, c)
}

func (d *Diff) full() bool { return len(d.Changes) == maxChanges }

func (d *Diff) headers(before, after map[string]string) {
	names := slices.Collect(maps.Keys(before))
	for name := range after {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, had := before[name]
		b, has := after[name]
		if had != has || a != b {
			old, now := sides([]byte(a), []byte(b))
			d.add(Change{Header: visible([]byte(name)), Old: given(old, had), New: given(now, has)})
		}
	}
}

func given(s Side, is bool) *Side {
	if !is {
		return nil
	}
	return &s
}

// Lines writes the diff for a terminal, without colours: a line for each place, and one for what stood and what stands
// there.
func (d Diff) Lines() []string {
	var lines []string
	for _, c := range d.Changes {
		switch {
		case c.Header != "":
			lines = append(lines, "header "+c.Header)
		case c.Pointer != nil && *c.Pointer == "":
			lines = append(lines, "the whole body")
		case c.Pointer != nil:
			lines = append(lines, visible([]byte(*c.Pointer)))
		default:
			lines = append(lines, fmt.Sprintf("byte %d, line %d", *c.Offset, c.Line))
		}
		if c.Old != nil {
			lines = append(lines, "  - "+c.Old.String())
		}
		if c.New != nil {
			lines = append(lines, "  + "+c.New.String())
		}
	}
	if d.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", d.More))
	}
	return lines
}
