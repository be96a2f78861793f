package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"github.com/siding-dev/siding"
)

// whereLimit bounds how long a jq expression may think about one message.
const whereLimit = time.Second

// errEndless says that a jq expression did not come to an end; it would not for the next message either.
var errEndless = errors.New("the expression of --where does not come to an end")

func isEndless(err error) bool { return errors.Is(err, errEndless) || errors.Is(err, context.Canceled) }

// filter is a jq expression that chooses messages.
type filter struct{ code *gojq.Code }

func newFilter(expr string) (*filter, error) {
	q, err := gojq.Parse(expr)
	if err == nil {
		var code *gojq.Code
		if code, err = gojq.Compile(q); err == nil {
			return &filter{code}, nil
		}
	}
	return nil, usagef("--where %q: %w; see \"siding dlq list --help\" for the fields", siding.Scrub(expr, 200), err)
}

// whereHelp lists what an expression can look at.
const whereHelp = `--where looks at an object with the fields queue, id, body (the parsed JSON, or null), body_text, headers,
content_type, priority, reason, cause, fingerprint, error, status, attempt, waits, interruptions, redrives,
deliveries, file, line, offset, fault_offset, first_received_at and dead_at (seconds since 1970).`

// match tells whether the expression's first value is true for the message: neither false nor null.
func (f *filter) match(ctx context.Context, l siding.Listed) (bool, error) {
	limited, cancel := context.WithTimeout(ctx, whereLimit)
	defer cancel()
	v, ok := f.code.RunWithContext(limited, whereValue(l)).Next()
	if err, is := v.(error); is {
		var halt *gojq.HaltError
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case limited.Err() != nil:
			return false, fmt.Errorf("%w: it took more than %v on message %q", errEndless, whereLimit, l.ID)
		case errors.As(err, &halt) && halt.Value() == nil:
			return false, nil
		}
		return false, err
	}
	return ok && v != nil && v != false, nil
}

// whereValue gives the message as jq sees it.
func whereValue(l siding.Listed) map[string]any {
	headers := make(map[string]any, len(l.Headers))
	for k, h := range l.Headers {
		headers[k] = h
	}
	v := map[string]any{
		"queue": l.Queue, "id": l.ID, "body": parseBody(l.Body), "body_text": strings.ToValidUTF8(string(l.Body), "\uFFFD"),
		"headers": headers, "content_type": l.ContentType, "priority": int(l.Priority), "reason": string(l.Reason),
		"cause": nil, "fingerprint": nil, "error": nil, "status": nil, "fault_offset": nil,
		"attempt": l.Attempt, "waits": l.Waits, "interruptions": l.Interruptions, "redrives": l.Redrives,
		"deliveries": l.Deliveries, "file": nil, "line": nil, "offset": nil,
		"first_received_at": seconds(l.ReceivedAt), "dead_at": seconds(l.DeadAt),
	}
	if e := l.LastError; e != nil {
		v["cause"], v["fingerprint"], v["error"] = string(e.Cause), e.Fingerprint, e.Text
		if e.Status != 0 {
			v["status"] = e.Status
		}
		if e.FaultOffset != nil {
			v["fault_offset"] = int(*e.FaultOffset)
		}
	}
	if s := l.Source; s != nil {
		v["file"], v["line"], v["offset"] = s.File, int(s.Line), int(s.Offset)
	}
	return v
}

// parseBody gives the body as a JSON value, or nil where it is none.
func parseBody(body []byte) any {
	if !utf8.Valid(body) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil
	}
	return v
}

func seconds(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return float64(t.UnixMicro()) / 1e6
}
