package claudesim_test

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type sse struct {
	event string
	data  map[string]any
}

func readEvents(t *testing.T, body string) []sse {
	t.Helper()
	var list []sse
	var now sse
	lines := bufio.NewScanner(strings.NewReader(body))
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "":
			list, now = append(list, now), sse{}
		case strings.HasPrefix(line, "event: "):
			now.event = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &now.data))
		}
	}
	return list
}

func collect(list []sse, field string) (text string) {
	for _, e := range list {
		if e.event == "content_block_delta" {
			piece, _ := e.data["delta"].(map[string]any)[field].(string)
			text += piece
		}
	}
	return text
}

func TestAStreamCarriesTheSameAnswer(t *testing.T) {
	for _, w := range ways(t, "latency: {per_output_token: 100us}") {
		for field, more := range map[string]string{"text": asSchema, "partial_json": asTool} {
			whole := w.post(askFor("a harbor at night", 300, more))
			list := readEvents(t, w.post(askFor("a harbor at night", 300, more+`,"stream":true`)).body)
			require.Equal(t, "message_start", list[0].event)
			require.Equal(t, "content_block_start", list[1].event)
			require.Equal(t, "message_delta", list[len(list)-2].event)
			require.Equal(t, "message_stop", list[len(list)-1].event)
			require.JSONEq(t, whole.text(t), collect(list, field), w.name)
			usage := list[len(list)-2].data["usage"].(map[string]any)
			require.EqualValues(t, whole.message(t).Usage.Output, usage["output_tokens"])
			calls := w.server.Calls()
			require.Equal(t, usage["output_tokens"], float64(calls[len(calls)-1].Usage.Output))
			require.True(t, calls[len(calls)-1].Acceptable)
		}
	}
}

func TestStreamsFailAsPlanned(t *testing.T) {
	const body = "a harbor at night"
	for _, c := range []struct {
		do    string
		check func(t *testing.T, e exchange, list []sse)
	}{
		{`{fault: stream-error, id: "529", after_events: 2}`, func(t *testing.T, e exchange, list []sse) {
			require.NoError(t, e.err)
			last := list[len(list)-1]
			require.Equal(t, "error", last.event)
			require.Equal(t, "overloaded_error", last.data["error"].(map[string]any)["type"])
			require.NotEmpty(t, collect(list, "text"))
		}},
		{`{fault: stream-cut, after_events: 2}`, func(t *testing.T, e exchange, list []sse) {
			require.NoError(t, e.err, "the connection ends well, the answer does not")
			require.Equal(t, "content_block_delta", list[len(list)-1].event)
		}},
		{`{fault: cut, at: inside}`, func(t *testing.T, e exchange, list []sse) {
			require.ErrorIs(t, e.err, io.ErrUnexpectedEOF)
			require.NotEmpty(t, list)
		}},
	} {
		for _, w := range ways(t, "faults: [{do: "+c.do+"}]") {
			got := w.post(askFor(body, 300, `,"stream":true`))
			require.Equal(t, 200, got.status)
			c.check(t, got, readEvents(t, got.body))
			row := w.server.Meter().Totals
			require.Equal(t, int64(1), row.Billed)
			require.Zero(t, row.Acceptable)
			whole := w.post(askFor(body, 300, ``))
			if !strings.Contains(c.do, "inside") {
				require.Equal(t, 200, status(t, whole), "faults of streams leave other calls alone")
				require.Less(t, row.Usage.Output, whole.message(t).Usage.Output, "only what was sent is billed")
			}
		}
	}
}

func TestAnErrorBeforeAStreamIsAnOrdinaryError(t *testing.T) {
	w := inProcess(t, "")
	got := w.post(askFor("", 300, `,"stream":true`))
	require.Equal(t, 400, got.status)
	require.Equal(t, "application/json", got.header.Get("Content-Type"))
}
