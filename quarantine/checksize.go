package quarantine

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
)

// From how many bytes on a text is worth a word: for itself, and when it is most of the body.
const (
	largeText = 64 << 10
	mostlyOne = 4 << 10
)

// largest is the longest text in a body.
type largest struct {
	pointer  *string
	from, to int // with its quotation marks
}

func (e *exam) largest() (l largest, ok bool) {
	if !e.json || e.mended == nil {
		return largest{}, false
	}
	// The place is noted only when it is known to be the longest: a place costs more than a look at a length.
	walk(e.mended, func(_ *scanner, t token) bool {
		if t.kind == kindString && t.to-t.from > l.to-l.from {
			l = largest{from: t.from, to: t.to}
		}
		return true
	})
	walk(e.mended, func(s *scanner, t token) bool {
		if t.from == l.from && t.kind == kindString {
			l.pointer = s.pointer()
			return false
		}
		return true
	})
	return l, l.pointer != nil && l.to-l.from > 2
}

// checkSize says which field carries the weight of a body.
func checkSize(_ context.Context, e *exam) ([]Finding, int) {
	l, ok := e.largest()
	if size := l.to - l.from; !ok || size < largeText && (size < mostlyOne || 2*size < len(e.mended)) {
		return nil, 0
	}
	text := e.mended[l.from+1 : l.to-1]
	f := Finding{Code: "large-field", Pointer: l.pointer, Text: fmt.Sprintf(
		"%s is the largest field: %d of %d bytes (%d %%), and about %d of %d tokens",
		shorten(*l.pointer), len(text), len(e.mended), share(len(text), len(e.mended)), e.tokens(text), e.tokens(e.mended))}
	if e.whole() {
		f = e.at(f, l.from)
	}
	return []Finding{f}, 1
}

func share(part, whole int) int { return part * 100 / max(whole, 1) }

// tokens estimates the tokens of a text, as the recipe does where it does.
func (e *exam) tokens(text []byte) int64 {
	if e.f.Tokens != nil {
		likely, _ := e.f.Tokens(string(text))
		return likely
	}
	return highTokens(text)
}

// highTokens estimates the tokens of a text on the high side.
func highTokens(text []byte) int64 {
	var c claude.TokenCount
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		c.Add(r)
		text = text[n:]
	}
	return c.High()
}

// checkTokens compares the body with what the model and the recipe take.
func checkTokens(ctx context.Context, e *exam) ([]Finding, int) {
	limit, whose := e.f.MaxInputTokens, "max_input_tokens of the recipe"
	if window := e.f.ContextTokens; window > 0 && (limit == 0 || window < limit) {
		limit, whose = window, "the context window of "+shorten(e.f.Model)
	}
	body := e.mended
	if body == nil {
		body = e.body
	}
	high := highTokens(body)
	over := limit > 0 && high > limit
	if e.f.Check != nil { // it knows what the prompt is made of
		over = e.tooLarge(body)
	}
	if !over && e.cause != siding.CauseInputTooLarge {
		return nil, 0
	}
	f := Finding{Code: "input-too-large", Fault: over || e.f.Check == nil}
	f.Text = fmt.Sprintf("the body is too large: about %d tokens, at most %d", e.tokens(body), high)
	if limit > 0 {
		f.Text += fmt.Sprintf("; %s is %d", whose, limit)
	}
	if !f.Fault {
		f.Text = "it was too large, and is not any more by what the recipe says now"
		return []Finding{f}, 1
	}
	if l, ok := e.largest(); ok {
		f.Pointer = l.pointer
		f.Text += fmt.Sprintf(". %s has %d %% of its bytes", shorten(*l.pointer), share(l.to-l.from, len(body)))
		if repair := e.fitLength(ctx, l, limit); repair != "" {
			f.Repairs = []string{repair}
		}
	}
	return []Finding{f}, 1
}

// tooLarge tells whether the recipe would find a body too large.
func (e *exam) tooLarge(body []byte) bool {
	m := e.s.Message
	m.Body = body
	f := e.f.Check(m)
	return f != nil && f.Cause == siding.CauseInputTooLarge
}

// fitLength gives the repair that makes the largest field short enough; empty: none does.
func (e *exam) fitLength(ctx context.Context, l largest, limit int64) string {
	field := highTokens(e.mended[l.from+1 : l.to-1])
	most := field / 2
	if limit > 0 {
		most = min(limit-(highTokens(e.mended)-field), field*9/10)
	}
	for range 8 { // what the prompt adds to the record is not known
		most = roundDown(most)
		if most < 1 {
			return ""
		}
		text := nameTruncate + ":" + arguments{{"field", *l.pointer}, {"max", strconv.FormatInt(most, 10)}, {"unit", "tokens"}}.String()
		r, err := ParseRepair(text)
		if err != nil {
			return ""
		}
		d, err := r.Apply(ctx, Draft{Body: e.mended})
		if err != nil {
			return ""
		}
		if e.f.Check == nil || !e.tooLarge(d.Body) {
			return text
		}
		most = most * 3 / 4
	}
	return ""
}

// roundDown keeps the first two digits.
func roundDown(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return n / unit * unit
}

// checkText looks for a body that says nothing.
func checkText(_ context.Context, e *exam) ([]Finding, int) {
	fault := e.cause == siding.CauseEmptyInput
	if e.s.Message.NoBody {
		return nil, 0 // which has been said
	}
	if len(bytes.TrimSpace(e.body)) == 0 {
		if e.json {
			return nil, 0 // it is no JSON either, which has been said
		}
		return []Finding{{Code: "empty-text", Text: "the body is empty or white space", Fault: fault}}, 1
	}
	if !e.json || e.mended == nil {
		return nil, 0
	}
	var blank []string
	n, texts := 0, 0
	walk(e.mended, func(s *scanner, t token) bool {
		if t.kind != kindString {
			return true
		}
		if texts++; !isBlank(e.mended[t.from+1 : t.to-1]) {
			return true
		}
		if n++; len(blank) < 5 {
			if p := s.pointer(); p != nil {
				blank = append(blank, *p)
			}
		}
		return true
	})
	switch {
	case !fault && (texts == 0 || n < texts):
		return nil, 0
	case n == 0:
		return []Finding{{Code: "empty-text", Text: "nothing was left of the record to ask about, by what the recipe takes of it", Fault: fault}}, 1
	}
	text := fmt.Sprintf("%d of the %d texts in the body are empty or white space: %s", n, texts, shorten(words(blank)))
	if fault {
		text += "; there is nothing to ask about, and nothing to mend"
	}
	return []Finding{{Code: "empty-text", Text: text, Fault: fault}}, 1
}

// isBlank tells whether what stands between the quotation marks of a JSON string is nothing but white space.
func isBlank(inner []byte) bool {
	for len(inner) > 0 {
		r, n := textRune(inner)
		if r != ' ' && r != '\n' && r != '\t' && r != '\r' && r != '\f' && r != '\u00a0' && r != '\u200b' && r != '\u3000' {
			return false
		}
		inner = inner[n:]
	}
	return true
}
