package claudesim

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// errorOf makes the error that a fault describes. now is needed for limits that end at a date.
func (p *plan) errorOf(d Do, now time.Time) *reply {
	known := samples[d.ID]
	known.status, known.kind = cmp.Or(d.Status, known.status), cmp.Or(d.Type, known.kind)
	known.message, known.code = cmp.Or(d.Message, known.message), cmp.Or(d.Code, known.code)
	var regain time.Time
	if d.Regain > 0 {
		regain = now.Add(d.Regain)
	}
	r := known.reply(regain)
	if d.RetryAfter > 0 {
		r.header.Set("retry-after", strconv.FormatInt(ceilSeconds(d.RetryAfter), 10))
		r.header.Set("retry-after-ms", strconv.FormatInt(d.RetryAfter.Milliseconds(), 10))
	}
	return r
}

// replaces says whether a fault takes the place of the reply, whatever the request: the service never looked at it.
func (d Do) replaces() bool { return d.Fault == faultError || d.Fault == faultHTML }

// replacement is the reply of such a fault. A content filter has read the prompt and may charge for it.
func (p *plan) replacement(d Do, base *reply, now time.Time) *reply {
	r := p.errorOf(d, now)
	if d.Fault == faultHTML {
		r = htmlPage(d.Status, cmp.Or(d.Message, "<html><body><h1>"+strconv.Itoa(d.Status)+" "+http.StatusText(d.Status)+"</h1></body></html>"))
	}
	r.usage, r.billed = Usage{}, false
	if d.billed(false) && base.answer != nil {
		r.usage, r.billed = base.usage, true
		r.usage.Output = 0
	}
	return r
}

// charge decides whether a reply is billed. A refused request costs nothing, however its connection ends, unless the
// fault that refused it said so.
func (r *reply) charge(d Do) {
	switch {
	case d.replaces(): // replacement has decided
	case r.answer == nil || d.Fault == faultRefuse:
		r.billed = false
	case d.Fault == faultCut && d.At == "before", d.Fault == faultStall && d.Then != "answer", d.Fault == faultErrorBody:
		r.billed = d.billed(false)
	default:
		r.billed = d.billed(r.billed)
	}
}

// reshape changes an answer as a fault says. It does nothing to an error.
func reshape(q *request, r *reply, d Do) {
	a := r.answer
	if a == nil {
		return
	}
	switch d.Fault {
	case faultStop:
		stopWith(q, r, d)
	case faultEmpty:
		a.blocks, a.stop, a.fits = nil, stopEnd, false
	case faultOffSchema:
		offSchema(q, a)
	case faultProse:
		*a = answer{blocks: []block{{text: "Here is what I found. " + newMuse(q.asked, 0).prose()}}, stop: stopEnd, fits: q.format == nil && q.tool == nil}
	case faultEnumCase:
		enumCase(q, a)
	case faultLong:
		long(q, a, d.Tokens)
	default:
		return
	}
	if d.Fault != faultStop {
		a.limit(q)
		r.usage.Output = a.tokens(q.spec)
	}
}

// stopWith ends an answer with a reason. What it costs follows from what is left of it.
func stopWith(q *request, r *reply, d Do) {
	a := r.answer
	a.stop, a.fits = d.Reason, false
	switch d.Reason {
	case stopRefusal:
		a.category = cmp.Or(d.Category, "general_harms")
		a.blocks = nil
		if !d.Partial {
			// Nothing was produced, so nothing is charged, and nothing reported.
			r.usage, r.billed = Usage{}, false
			return
		}
		a.blocks = []block{{text: cutTokens(newMuse(q.asked, 0).prose(), 12, q.spec)}}
	case stopTokens:
		long(q, a, q.maxTokens+1)
		a.limit(q)
		a.stop = stopTokens
	case stopWindow, stopPause:
		for i := range a.blocks {
			b := &a.blocks[i]
			b.text, b.whole = cutTokens(b.text, max(1, tokensOf(b.text, q.spec)/2), q.spec), false
		}
	case stopEnd, stopTool, stopSequence:
		a.fits = false
	}
	r.usage.Output = a.tokens(q.spec)
}

// long makes an answer need a number of tokens. JSON may have space before its last bracket, so that it stays the
// same value; prose goes on.
func long(q *request, a *answer, tokens int64) {
	if len(a.blocks) == 0 {
		return
	}
	b := &a.blocks[0]
	missing := tokens - tokensOf(b.text, q.spec)
	if missing <= 0 {
		return
	}
	body, last, filler := b.text, "", " and so on"
	if q.format != nil || q.tool != nil {
		body, last, filler = b.text[:max(0, len(b.text)-1)], b.text[max(0, len(b.text)-1):], " "
	}
	body += strings.Repeat(filler, int(missing)*quartersPerToken/len(filler)+1)
	for tokensOf(body+last, q.spec) < tokens {
		body += filler
	}
	b.text = body + last
}

// offSchema makes an answer that does not fit: a required member is missing, or the type is another one.
func offSchema(q *request, a *answer) {
	schema := q.format
	if q.tool != nil {
		schema = q.tool.Schema
	}
	if schema == nil || len(a.blocks) == 0 {
		return
	}
	a.fits = false
	b := &a.blocks[0]
	if o, ok := parseOrdered([]byte(b.text)).(*ordered); ok {
		for _, key := range o.keys {
			less := without(o, key)
			if text := string(encode(less)); !fitsSchema(schema, text) {
				b.text = text
				return
			}
			o.set(key, newOrdered())
			if text := string(encode(o)); !fitsSchema(schema, text) {
				b.text = text
				return
			}
		}
		o.set("unexpected", true)
		if text := string(encode(o)); !fitsSchema(schema, text) {
			b.text = text
			return
		}
	}
	for _, text := range []string{`{}`, `[]`, `"none"`, `0`, `null`} {
		if !fitsSchema(schema, text) {
			b.text = text
			return
		}
	}
}

// enumCase writes values that stand in an enum of the schema in other capitals. The answer still counts as one to
// take: the service does not promise capitals, and a client has to compare without them.
func enumCase(q *request, a *answer) {
	schema := q.format
	if q.tool != nil {
		schema = q.tool.Schema
	}
	if schema == nil || len(a.blocks) == 0 {
		return
	}
	words := map[string]bool{}
	enumWords(parseOrdered(schema), words)
	b := &a.blocks[0]
	b.text = string(encode(recase(parseOrdered([]byte(b.text)), words)))
}

func enumWords(node any, into map[string]bool) {
	switch n := node.(type) {
	case *ordered:
		list, _ := n.get("enum").([]any)
		for _, v := range append(list, n.get("const")) {
			if s, ok := v.(string); ok {
				into[s] = true
			}
		}
		for _, k := range n.keys {
			enumWords(n.get(k), into)
		}
	case []any:
		for _, v := range n {
			enumWords(v, into)
		}
	}
}

func recase(node any, words map[string]bool) any {
	switch n := node.(type) {
	case string:
		if words[n] {
			swapped := strings.Map(func(r rune) rune {
				if unicode.IsUpper(r) {
					return unicode.ToLower(r)
				}
				return unicode.ToUpper(r)
			}, n)
			return swapped
		}
	case *ordered:
		for _, k := range n.keys {
			n.set(k, recase(n.get(k), words))
		}
	case []any:
		for i := range n {
			n[i] = recase(n[i], words)
		}
	}
	return node
}
