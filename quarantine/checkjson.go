package quarantine

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/siding-dev/siding"
)

// checkJSON finds the first thing that keeps the body from being JSON; and, where it is, names that come twice.
func checkJSON(_ context.Context, e *exam) ([]Finding, int) {
	if !e.json {
		return nil, 0
	}
	s := scanner{b: e.body}
	twice := duplicates{seed: maphash.MakeSeed()}
	for {
		t, fault := s.next()
		if fault != nil {
			return []Finding{e.syntaxFinding(&s, fault)}, 1
		}
		if t.kind == kindEnd {
			break
		}
		twice.visit(&s, t)
	}
	list := make([]Finding, len(twice.at))
	for i, d := range twice.at {
		list[i] = e.at(Finding{
			Code: "duplicate-key", Pointer: d.pointer,
			Text: "the object has this name twice; only the last one counts, and other readers may take another",
		}, d.from)
	}
	return list, twice.n
}

func (e *exam) syntaxFinding(s *scanner, fault *syntaxFault) Finding {
	if s.expect == expectComma && fault.code != codeQuote && len(s.open) > 0 {
		s.top().index = -1 // the value is whole: it is the object or array around it that is not
	}
	f := Finding{Code: fault.code, Pointer: s.pointer(), Text: "it is not valid JSON: " + fault.text, Fault: true}
	for _, step := range e.steps {
		if step == nameFixJSON || step == nameStripControl {
			f.Repairs = append(f.Repairs, step)
		}
	}
	switch {
	case e.cause == siding.CauseBodyTooLarge:
		f.Text = "the body is not there as a whole: only the beginning of what was too large is kept"
		f.Repairs = nil
	case e.mended == nil:
		f.Text += ". fix-json does not mend it: " + e.refusal
	case slices.Contains(f.Repairs, nameFixJSON):
		f.Text += e.losses()
	}
	return e.at(f, fault.at)
}

// losses says that a cut end takes something with it.
func (e *exam) losses() string {
	if fault := syntax(e.body); fault.code == codeEnd || fault.code == codeOpenText {
		return fmt.Sprintf(". fix-json closes what is open; whatever came after byte %d is lost", len(e.body))
	}
	return ""
}

// maxKeys bounds how many keys of one object are remembered.
const maxKeys = 100_000

// duplicates looks for keys that an object has twice. It remembers hashes of keys, and may miss some in objects with more
// keys than maxKeys.
type duplicates struct {
	seed maphash.Seed
	open []map[uint64]struct{} // nil for arrays
	at   []duplicate
	n    int
}

type duplicate struct {
	from    int
	pointer *string
}

func (d *duplicates) visit(s *scanner, t token) {
	switch t.kind {
	case kindObject, kindArray:
		d.open = append(d.open, nil)
	case kindClose:
		d.open = d.open[:len(d.open)-1]
	case kindKey:
		top := &d.open[len(d.open)-1]
		hash := maphash.String(d.seed, unquote(s.b[t.from:t.to]))
		if *top == nil {
			*top = map[uint64]struct{}{}
		}
		_, known := (*top)[hash]
		switch {
		case known:
			if d.n++; len(d.at) < MaxFindings {
				d.at = append(d.at, duplicate{t.from, s.pointer()})
			}
		case len(*top) < maxKeys:
			(*top)[hash] = struct{}{}
		}
	}
}
