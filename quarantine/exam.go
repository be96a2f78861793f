package quarantine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// builtin is a check that is built in. It gives the first things that it finds, and how many there are in all.
type builtin struct {
	name string
	find func(ctx context.Context, e *exam) ([]Finding, int)
}

// builtinChecks are in the order in which a reader wants to know: what happened, what is wrong with the bytes, with what
// they say, with what came back.
func builtinChecks() []builtin {
	return []builtin{
		{"failure", checkFailure},
		{"utf8", checkUTF8},
		{"json", checkJSON},
		{"control", checkControl},
		{"surrogate", checkSurrogates},
		{"schema", checkSchema},
		{"size", checkSize},
		{"tokens", checkTokens},
		{"text", checkText},
		{"media", checkMedia},
		{"answer", checkAnswer},
		{"recipe", checkRecipe},
	}
}

// An exam is what the checks that are built in share while they look into one dead letter.
type exam struct {
	s     Subject
	f     Facts
	body  []byte
	cause siding.Cause
	json  bool // the body should be JSON

	// steps are repairs that make the body valid UTF-8 and well-formed JSON without lone surrogates, and mended is the body
	// after them. refusal says why there are none; then mended is nil.
	steps   []string
	mended  []byte
	refusal string

	found []Finding // by the checks before
}

func newExam(s Subject, f Facts) (e *exam) {
	e = &exam{s: s, f: f, body: s.Message.Body}
	if s.Message.LastError != nil {
		e.cause = s.Message.LastError.Cause
	}
	e.json = isJSON(s.Message.ContentType) || f.Settings // what asks a model takes JSON only
	if s.Message.NoBody || e.plainText() {
		e.json = false
	}
	defer func() {
		if p := recover(); p != nil { // the checks go on with the bytes as they are
			e.steps, e.mended, e.refusal = nil, nil, "it panicked: "+shorten(fmt.Sprint(p))
		}
	}()
	e.mend()
	return e
}

// plainText tells whether the body is plain text, although its content type says JSON or nothing, and nobody minds.
func (e *exam) plainText() bool {
	if e.f.Check != nil || e.cause == siding.CauseInvalidJSON {
		return false
	}
	b := bytes.TrimLeft(bytes.TrimPrefix(e.body, bom), " \t\r\n")
	return len(b) > 0 && b[0] != '{' && b[0] != '[' && b[0] != '"' && syntax(b) != nil
}

// mend looks for the repairs with which the body can be taken apart.
func (e *exam) mend() {
	d := Draft{Body: e.body, ContentType: e.s.Message.ContentType}
	if e.json {
		d.ContentType = ""
	}
	if !utf8.Valid(d.Body) {
		d.Body, _ = stripInvalidUTF8(d)
		e.steps = append(e.steps, nameStripUTF8)
	}
	if !e.json {
		e.mended = d.Body
		return
	}
	if syntax(d.Body) != nil {
		stripped, _ := stripControl(d)
		fixed, err := fixJSON(d)
		switch {
		case syntax(stripped) == nil:
			d.Body, e.steps = stripped, append(e.steps, nameStripControl)
		case err == nil:
			d.Body, e.steps = fixed, append(e.steps, nameFixJSON)
		default:
			e.refusal = err.Error()
			again := d
			again.Body = stripped
			if d.Body, err = fixJSON(again); err != nil {
				e.steps = nil
				return
			}
			e.steps, e.refusal = append(e.steps, nameStripControl, nameFixJSON), ""
		}
	}
	if fixed, _ := fixSurrogates(d); !bytes.Equal(fixed, d.Body) {
		d.Body, e.steps = fixed, append(e.steps, nameFixSurrogates)
	}
	e.mended = d.Body
}

// whole tells whether the body can be taken apart as it is.
func (e *exam) whole() bool { return e.json && e.mended != nil && len(e.steps) == 0 }

// at says where in the body a finding is.
func (e *exam) at(f Finding, offset int) Finding {
	at := int64(offset)
	before := e.body[:offset]
	f.Offset, f.Line = &at, int64(bytes.Count(before, []byte("\n")))+1
	f.Column = int64(offset-bytes.LastIndexByte(before, '\n')-1) + 1
	return f
}

// mark is a piece of the body that a check has found.
type mark struct {
	from, to int
	code     string
}

// marks keeps the first ones, and counts all.
type marks struct {
	list []mark
	n    int
}

func (m *marks) add(from, to int, code string) {
	if m.n++; len(m.list) < MaxFindings {
		m.list = append(m.list, mark{from, to, code})
	}
}

// findings makes a finding of each mark, with the field in which it is where the body can be taken apart so far.
func (e *exam) findings(m marks, describe func(mark) Finding) ([]Finding, int) {
	list := make([]Finding, len(m.list))
	for i, each := range m.list {
		list[i] = e.at(describe(each), each.from)
		list[i].Code = each.code
	}
	if e.json && len(list) > 0 {
		s := scanner{b: e.body, lax: true}
		if bytes.HasPrefix(e.body, bom) {
			s.at = len(bom)
		}
		for i := 0; i < len(list); {
			t, fault := s.next()
			if fault != nil || t.kind == kindEnd {
				break
			}
			for i < len(list) && m.list[i].from < t.from {
				i++
			}
			for ; i < len(list) && m.list[i].from < t.to; i++ {
				if t.kind == kindString {
					list[i].Pointer = s.pointer()
				}
			}
		}
	}
	return list, m.n
}

// hasFault tells whether a check before has found a fault.
func (e *exam) hasFault() bool {
	return slices.ContainsFunc(e.found, func(f Finding) bool { return f.Fault })
}
