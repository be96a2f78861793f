package claude_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
)

var when = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// service answers the nth request with the nth reply.
func service(replies ...func(http.ResponseWriter)) *httptest.Server {
	n := 0
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "application/json")
		replies[n](w)
		n++
	}))
}

func fails(status int, retryAfter, kind, text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("retry-after", retryAfter)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, text)
	}
}

func answers(stop, text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":%q}],"stop_reason":%q,"usage":{"input_tokens":9,"output_tokens":4}}`, text, stop))
	}
}

// A loop of your own around the official SDK: Classify says what a failure means, so that one bad record does not stop
// the others, and an account without credit does not set every record aside.
func ExampleClassify() {
	srv := service(
		fails(429, "12", "rate_limit_error", "Too many requests"),
		fails(400, "", "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
		fails(400, "", "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
	)
	defer srv.Close()
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithBaseURL(srv.URL),
		option.WithMaxRetries(0)) // each of the SDK's own retries may be billed
	ask := anthropic.MessageNewParams{
		Model: "claude-haiku-4-5", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Tag this."))},
	}
	for range 3 {
		_, err := client.Messages.New(context.Background(), ask)
		switch f := claude.Classify(err); {
		case f == nil:
			fmt.Println("answered")
		case f.Outcome == siding.OutcomeHeld && f.Scope == siding.ScopeLane:
			fmt.Println("everything waits for", f.RetryAfter)
		case f.Outcome == siding.OutcomeHeld:
			fmt.Println("stop, it is the", f.Scope)
		case f.Outcome == siding.OutcomePermanent:
			fmt.Println("set this record aside:", f.Cause)
		default:
			fmt.Println("try this record again later:", f.Cause)
		}
	}
	// Output:
	// everything waits for 12s
	// set this record aside: input-too-large
	// stop, it is the account
}

// A nil error of the SDK is not yet an answer that can be used.
func ExampleAccept() {
	srv := service(answers("end_turn", "calm"), answers("max_tokens", "cal"), answers("refusal", ""))
	defer srv.Close()
	client := anthropic.NewClient(option.WithoutEnvironmentDefaults(), option.WithAPIKey("key"), option.WithBaseURL(srv.URL), option.WithMaxRetries(0))
	for range 3 {
		m, err := client.Messages.New(context.Background(), anthropic.MessageNewParams{
			Model: "claude-haiku-4-5", MaxTokens: 100, Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Tag this."))},
		})
		if err == nil {
			err = claude.Accept(m)
		}
		if f := siding.FailureOf(err); f != nil {
			fmt.Println(f.Outcome, f.Cause)
			continue
		}
		fmt.Println(m.Content[0].Text)
	}
	// Output:
	// calm
	// gray truncated
	// permanent refused
}

// Structured answers are checked against their schema; values of an enum come out in the schema's spelling.
func ExampleAcceptJSON() {
	schema, err := claude.CompileSchema([]byte(`{"type": "object", "properties": {"mood": {"enum": ["Calm", "Bright"]}}, "required": ["mood"]}`))
	if err != nil {
		panic(err)
	}
	for _, text := range []string{`{"mood": "calm"}`, `{"mood": "sad"}`} {
		m := &anthropic.Message{ID: "msg_1", Type: "message", StopReason: "end_turn", Content: []anthropic.ContentBlockUnion{{Type: "text", Text: text}}}
		result, err := claude.AcceptJSON(m, schema)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(string(result))
	}
	// Output:
	// {"mood":"Calm"}
	// the answer does not fit the schema: at "/mood": value must be one of 'Calm', 'Bright' (it is "sad")
}

func ExamplePrices_Cost() {
	usage := siding.Usage{Input: 1200, Output: 300}
	cost, priced := claude.DefaultPrices().Cost("claude-haiku-4-5", usage, when, claude.Multipliers{})
	fmt.Println(cost, priced)
	_, priced = claude.DefaultPrices().Cost("claude-of-tomorrow", usage, when, claude.Multipliers{})
	fmt.Println(priced)
	// Output:
	// $0.002700 true
	// false
}
