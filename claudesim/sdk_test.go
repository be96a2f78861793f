package claudesim_test

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/stretchr/testify/require"
)

func sdk(w way) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(w.url), option.WithAPIKey("test-key"), option.WithHTTPClient(w.client), option.WithMaxRetries(0))
}

func params(text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.ModelClaudeHaiku4_5, MaxTokens: 300,
		System:   []anthropic.TextBlockParam{{Text: "You tag pictures."}},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func tagFormat(t *testing.T) anthropic.OutputConfigParam {
	t.Helper()
	var schema map[string]any
	require.NoError(t, json.Unmarshal([]byte(tagSchema), &schema))
	return anthropic.OutputConfigParam{Format: anthropic.JSONOutputFormatParam{Schema: schema}}
}

func TestTheOfficialGoClientIsServed(t *testing.T) {
	for _, w := range ways(t, "") {
		t.Run(w.name, func(t *testing.T) {
			c := sdk(w)
			p := params("a harbor at night")
			p.OutputConfig = tagFormat(t)
			m, err := c.Messages.New(t.Context(), p)
			require.NoError(t, err)
			require.Equal(t, anthropic.StopReasonEndTurn, m.StopReason)
			require.NotEmpty(t, m.ID)
			require.Equal(t, "message", string(m.Type))
			var tags struct{ Tags []string }
			require.NoError(t, json.Unmarshal([]byte(m.Content[0].Text), &tags))
			require.NotEmpty(t, tags.Tags)
			require.Equal(t, w.server.Meter().Totals.Usage.Output, m.Usage.OutputTokens)

			stream := c.Messages.NewStreaming(t.Context(), p)
			whole := anthropic.Message{}
			for stream.Next() {
				require.NoError(t, whole.Accumulate(stream.Current()))
			}
			require.NoError(t, stream.Err())
			require.Equal(t, m.Content[0].Text, whole.Content[0].Text)
			require.Equal(t, anthropic.StopReasonEndTurn, whole.StopReason)

			info, err := c.Models.Get(t.Context(), "claude-haiku-4-5", anthropic.ModelGetParams{})
			require.NoError(t, err)
			require.Equal(t, int64(200_000), info.MaxInputTokens)
			require.Equal(t, int64(64_000), info.MaxTokens)
			page, err := c.Models.List(t.Context(), anthropic.ModelListParams{})
			require.NoError(t, err)
			require.Greater(t, len(page.Data), 10)
			n, err := c.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{Model: p.Model, Messages: p.Messages})
			require.NoError(t, err)
			require.Positive(t, n.InputTokens)
		})
	}
}

func TestTheOfficialGoClientSeesErrorsAsTheServiceSendsThem(t *testing.T) {
	for _, w := range ways(t, `
faults:
  - {when: {text: busy, stream: false}, do: {fault: error, id: "529"}}
  - {when: {text: gateway}, do: {fault: html, status: 502}}
  - {when: {text: masked}, do: {fault: error-body, id: "500"}}
  - {when: {text: busy}, do: {fault: stream-error, id: "529", after_events: 1}}
  - {when: {text: short}, do: {fault: stream-cut, after_events: 1}}
`) {
		c := sdk(w)
		_, err := c.Messages.New(t.Context(), params("busy"))
		var ae *anthropic.Error
		require.ErrorAs(t, err, &ae)
		require.Equal(t, 529, ae.StatusCode)
		require.Equal(t, anthropic.ErrorTypeOverloadedError, ae.Type())
		require.NotEmpty(t, ae.RequestID)
		_, err = c.Messages.New(t.Context(), params("gateway"))
		require.ErrorAs(t, err, &ae)
		require.Equal(t, 502, ae.StatusCode)
		require.Empty(t, ae.Type())
		m, err := c.Messages.New(t.Context(), params("masked"))
		require.NoError(t, err, "a trap: no error at all")
		require.Empty(t, m.ID)

		stream := c.Messages.NewStreaming(t.Context(), params("busy"))
		for stream.Next() {
		}
		require.ErrorAs(t, stream.Err(), &ae)
		require.Equal(t, 200, ae.StatusCode)
		require.Equal(t, anthropic.ErrorTypeOverloadedError, ae.Type())
		require.NoError(t, stream.Close())

		stream = c.Messages.NewStreaming(t.Context(), params("short"))
		whole := anthropic.Message{}
		for stream.Next() {
			require.NoError(t, whole.Accumulate(stream.Current()))
		}
		require.NoError(t, stream.Err(), "a trap: no error at all")
		require.Empty(t, whole.StopReason)
		require.NoError(t, stream.Close())
	}
}
