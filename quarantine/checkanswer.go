package quarantine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
)

// jsonOnly is the instruction that is proposed where a model wrote prose.
const jsonOnly = "Answer with the JSON that was asked for, and with nothing else: no introduction, no explanation, no code fence."

// checkAnswer looks at the answer that was not accepted, and at how the calls ended.
func checkAnswer(_ context.Context, e *exam) ([]Finding, int) {
	reply, isReply := claude.ReadReply(e.s.Answer)
	switch {
	case e.cause == siding.CauseTruncated || isReply && reply.StopReason == "max_tokens":
		return []Finding{e.truncated(reply)}, 1
	case e.cause == siding.CauseRefused || isReply && reply.StopReason == "refusal":
		return []Finding{e.refused(reply)}, 1
	case e.s.Answer == nil || e.f.OutputSchema == nil || e.cause != siding.CauseSchemaMismatch:
		return nil, 0
	}
	text := e.s.Answer
	if isReply {
		if text = reply.Tool; text == nil {
			text = []byte(reply.Text)
		}
	}
	return e.mismatch(text)
}

// truncated is for an answer that was cut at its limit.
func (e *exam) truncated(r claude.Reply) Finding {
	f := Finding{Code: "truncated", Fault: true, Text: "the answer was cut at its limit"}
	limit := max(e.f.MaxTokens, 0)
	if n := len(e.s.Calls); n > 0 && e.s.Calls[n-1].OutputLimit > 0 {
		limit = e.s.Calls[n-1].OutputLimit
	}
	if limit > 0 {
		f.Text += fmt.Sprintf(" of %d tokens", limit)
	}
	if r.Usage.Output > 0 {
		f.Text += fmt.Sprintf(", after %d", r.Usage.Output)
	}
	switch most := e.f.MaxOutput; {
	case !e.f.Settings:
	case most > 0 && limit >= most:
		f.Text += fmt.Sprintf("; %s gives no more. Another model may, or a request that asks for less", shorten(e.f.Model))
	case most > 0:
		f.Text += fmt.Sprintf("; %s gives up to %d", shorten(e.f.Model), most)
		f.Repairs = []string{nameRequest + ":max_tokens=" + strconv.FormatInt(most, 10)}
	case limit > 0:
		f.Repairs = []string{nameRequest + ":max_tokens=" + strconv.FormatInt(min(limit*4, mostTokens), 10)}
	}
	return f
}

// refused is for a model that would not answer.
func (e *exam) refused(r claude.Reply) Finding {
	f := Finding{Code: "refused", Fault: true, Text: "the model refused"}
	if r.Category != "" {
		f.Text += ", category " + shorten(r.Category)
	}
	f.Text += ". The same request is refused again: ask another model (request:model=…) or otherwise (request:instruction=…), or give it up"
	if said := strings.TrimSpace(r.Text); said != "" {
		f.Text += ". It said: " + shorten(said)
	}
	return f
}

// mismatch is for an answer that does not fit the output schema.
func (e *exam) mismatch(text []byte) ([]Finding, int) {
	var ask []string
	if e.f.Settings {
		ask = []string{nameRequest + ":" + arguments{{"instruction", jsonOnly}}.String()}
	}
	if fault := syntax(text); fault != nil {
		f := Finding{Code: "prose", Fault: true, Repairs: ask}
		f.Text = fmt.Sprintf("the answer is no JSON (%s, at offset %d of it): %s", fault.text, fault.at, shorten(string(text)))
		if inner, ok := fenced(text); ok {
			f.Code = "fenced-json"
			f.Text = "the answer has its JSON in a code fence: " + shorten(string(text))
			if !json.Valid(inner) {
				f.Text = "the answer has a code fence, and what stands in it is no JSON: " + shorten(string(text))
			}
		}
		return []Finding{f}, 1
	}
	schema, err := claude.CompileSchema(e.f.OutputSchema)
	if err != nil {
		return []Finding{{Code: "unusable-schema", Text: "the output schema cannot be used: " + err.Error(), Fault: true}}, 1
	}
	found, n, err := schema.AnswerViolations(text, MaxFindings)
	switch {
	case err != nil:
		return []Finding{{Code: "unchecked", Text: "the answer cannot be compared with the output schema: " + err.Error(), Fault: true}}, 1
	case n == 0:
		return []Finding{{Code: "accepted-now", Text: "the answer fits the output schema as it is now: a redrive takes it from the journal, without a call"}}, 1
	}
	list := make([]Finding, len(found))
	for i, v := range found {
		list[i] = Finding{
			Code: "output-schema", Fault: true,
			Text: fmt.Sprintf("the answer does not fit the output schema: at %q: %s (it is %s)", v.Pointer, v.Text, v.Got),
		}
	}
	return list, n
}

// fenced gives what stands in the first code fence of a text.
func fenced(text []byte) ([]byte, bool) {
	_, rest, ok := bytes.Cut(text, []byte("```"))
	if !ok {
		return nil, false
	}
	if _, after, ok := bytes.Cut(rest, []byte("\n")); ok { // behind the name of the language
		rest = after
	}
	inner, _, _ := bytes.Cut(rest, []byte("```"))
	return bytes.TrimSpace(inner), true
}
