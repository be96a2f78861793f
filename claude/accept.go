package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/siding-dev/siding"
)

// Accept tells whether a message of the SDK is an answer that can be used: nil, or a [*siding.Failure]. It looks at
// what a nil error of the SDK does not promise: that the body was a message at all (an error body under status 200
// decodes into an empty one), that it ended by itself, and that it has content.
//
//   - end_turn with text, stop_sequence with the sequence that was set, tool_use with a tool call: nil
//   - max_tokens: gray, truncated; asking the same again gives the same
//   - refusal: permanent, refused
//   - model_context_window_exceeded: permanent, input-too-large
//   - pause_turn: gray, unknown-stop-reason; send the content back and go on
//   - anything else, also none (a stream that was cut short): gray, unknown-stop-reason
//   - no content: gray, empty-answer; no message or no ID: transient, bad-response
func Accept(m *anthropic.Message) error {
	if m == nil {
		return &siding.Failure{Outcome: siding.OutcomeTransient, Cause: siding.CauseBadResponse, Err: errors.New("there is no message")}
	}
	a := answerOf(m)
	return failed(stopFault(a, rules{stops: a.StopSequence != "", tools: true}))
}

// AcceptJSON accepts an answer that must be JSON: [Accept], then the text (or the input of the first tool call, when
// there is one) must fit the schema. nil as a schema takes any JSON. The result is compact, with enumerated values in
// the schema's spelling.
func AcceptJSON(m *anthropic.Message, s *Schema) (json.RawMessage, error) {
	if err := Accept(m); err != nil {
		return nil, err
	}
	a := answerOf(m)
	source := []byte(a.Text())
	for _, b := range a.Blocks {
		if b.Type == "tool_use" {
			source = b.Input
			break
		}
	}
	result, f := conformTo(s, source)
	return result, failed(f)
}

// rules are what of a request decides about its answer.
type rules struct {
	stops bool    // stop sequences were set
	tools bool    // a tool call was asked for
	tool  string  // its name; empty: any
	json  *Schema // the answer must fit it; nil: plain text
}

// judge says whether an answer is what was asked for, and gives it as it is stored: JSON, or a JSON string.
func (r rules) judge(a answer) ([]byte, *siding.Failure) {
	if f := stopFault(a, r); f != nil {
		return nil, f
	}
	if r.tools {
		for _, b := range a.Blocks {
			if b.Type == "tool_use" && b.Name == r.tool {
				return conformTo(r.json, b.Input)
			}
		}
		return nil, mismatch(fmt.Errorf("the model wrote text instead of calling the tool: %q", cut(a.Text(), shown)))
	}
	if r.json != nil {
		return conformTo(r.json, []byte(a.Text()))
	}
	return appendString(nil, a.Text()), nil
}

// stopFault looks at everything but the schema.
func stopFault(a answer, r rules) *siding.Failure {
	if a.Type != "message" || a.ID == "" {
		return answerFault(siding.OutcomeTransient, siding.CauseBadResponse, "the body is not a message with an ID")
	}
	switch a.StopReason {
	case "end_turn":
	case "stop_sequence":
		if !r.stops {
			return answerFault(siding.OutcomeGray, siding.CauseUnknownStopReason, "the answer ended at a stop sequence, and none was set")
		}
	case "tool_use":
		if !r.tools {
			return answerFault(siding.OutcomeGray, siding.CauseUnknownStopReason, "the answer is a tool call, and none was asked for")
		}
	case "max_tokens":
		return answerFault(siding.OutcomeGray, siding.CauseTruncated, "the answer was cut at max_tokens")
	case "model_context_window_exceeded":
		return answerFault(siding.OutcomePermanent, siding.CauseInputTooLarge, "the answer was cut at the end of the model's context window")
	case "refusal":
		category := ""
		if a.Category != "" {
			category = " (category: " + cut(a.Category, 64) + ")"
		}
		return answerFault(siding.OutcomePermanent, siding.CauseRefused, "the model refused%s", category)
	case "pause_turn":
		return answerFault(siding.OutcomeGray, siding.CauseUnknownStopReason, "the turn is paused (pause_turn): send the content back and go on")
	case "":
		return answerFault(siding.OutcomeGray, siding.CauseUnknownStopReason, "the answer has no stop reason: it is not whole")
	default:
		return answerFault(siding.OutcomeGray, siding.CauseUnknownStopReason, "the answer ended for an unknown reason: %s", cut(a.StopReason, 64))
	}
	if emptyAnswer(a, r) {
		return answerFault(siding.OutcomeGray, siding.CauseEmptyAnswer, "the answer has no content")
	}
	return nil
}

func emptyAnswer(a answer, r rules) bool {
	for _, b := range a.Blocks {
		if r.tools && b.Type == "tool_use" {
			return false
		}
	}
	return strings.TrimSpace(a.Text()) == ""
}

func conformTo(s *Schema, source []byte) ([]byte, *siding.Failure) {
	if s == nil {
		v, err := parseOrdered(source)
		if err != nil {
			return nil, mismatch(fmt.Errorf("it is not JSON: %w: %q", err, cut(string(source), shown)))
		}
		return appendJSON(nil, v), nil
	}
	result, err := s.conform(source)
	if err != nil {
		return nil, mismatch(err)
	}
	return result, nil
}

func mismatch(err error) *siding.Failure {
	return &siding.Failure{
		Outcome: siding.OutcomePermanent, Cause: siding.CauseSchemaMismatch, Status: 200,
		Err: fmt.Errorf("the answer does not fit the schema: %w", err),
	}
}

func answerFault(o siding.Outcome, c siding.Cause, format string, args ...any) *siding.Failure {
	return &siding.Failure{Outcome: o, Cause: c, Status: 200, Err: fmt.Errorf(format, args...)}
}
