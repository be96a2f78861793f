package claudesim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/siding-dev/siding/claudesim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask is a small request in words.
func ask(text string) string { return askFor(text, 500, "") }

// askFor adds parameters, each beginning with a comma.
func askFor(text string, maxTokens int, more string) string {
	raw, _ := json.Marshal(text)
	return `{"model":"claude-haiku-4-5","max_tokens":` + jsonInt(maxTokens) + `,"messages":[{"role":"user","content":` + string(raw) + `}]` + more + `}`
}

func jsonInt(n int) string { b, _ := json.Marshal(n); return string(b) }

const tagSchema = `{"type":"object","additionalProperties":false,"required":["tags","mood"],"properties":{"tags":{"type":"array","items":{"type":"string"}},"mood":{"enum":["calm","wild"]}}}`

const asSchema = `,"output_config":{"format":{"type":"json_schema","schema":` + tagSchema + `}}`

const asTool = `,"tools":[{"name":"save","input_schema":` + tagSchema + `}],"tool_choice":{"type":"tool","name":"save"}`

// An exchange is what a client got.
type exchange struct {
	status int
	header http.Header
	body   string
	err    error
}

func (e exchange) text(t *testing.T) string {
	t.Helper()
	require.NoError(t, e.err)
	require.Equal(t, 200, e.status, e.body)
	var m message
	require.NoError(t, json.Unmarshal([]byte(e.body), &m), e.body)
	require.NotEmpty(t, m.Content, e.body)
	if m.Content[0].Type == "tool_use" {
		return string(m.Content[0].Input)
	}
	return m.Content[0].Text
}

type message struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Content []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	} `json:"content"`
	StopReason   string `json:"stop_reason"`
	StopSequence string `json:"stop_sequence"`
	StopDetails  *struct {
		Category string `json:"category"`
	} `json:"stop_details"`
	Usage struct {
		Input      int64 `json:"input_tokens"`
		Output     int64 `json:"output_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
	} `json:"usage"`
}

func (e exchange) message(t *testing.T) message {
	t.Helper()
	require.NoError(t, e.err)
	var m message
	require.NoError(t, json.Unmarshal([]byte(e.body), &m), e.body)
	return m
}

type apiError struct {
	Type  string `json:"type"`
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Details *struct {
			Code string `json:"error_code"`
		} `json:"details"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

func (e exchange) failure(t *testing.T) apiError {
	t.Helper()
	require.NoError(t, e.err)
	var a apiError
	require.NoError(t, json.Unmarshal([]byte(e.body), &a), e.body)
	require.Equal(t, "error", a.Type, e.body)
	return a
}

// do sends a request with the headers that every client sends; nil values of more remove a header.
func do(client *http.Client, method, url, body string, more map[string]string) exchange {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return exchange{err: err}
	}
	req.Header.Set("x-api-key", "test-key")
	req.Header.Set("anthropic-version", "2026-10-21")
	for k, v := range more {
		if v == "" {
			req.Header.Del(k)
		} else {
			req.Header.Set(k, v)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return exchange{err: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return exchange{status: res.StatusCode, header: res.Header, body: string(data), err: err}
}

// A way is one of the two ways to reach a server.
type way struct {
	name   string
	server *claudesim.Server
	client *http.Client
	url    string
}

func (w way) post(body string) exchange {
	return do(w.client, "POST", w.url+"/v1/messages", body, nil)
}

// ways makes a server for each way of reaching one, with the same profile.
func ways(t *testing.T, profile string) []way {
	t.Helper()
	over := claudesim.Serve(t, parse(t, profile))
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	inside := inProcess(t, profile)
	return []way{{"over a socket", over, client, over.URL()}, inside}
}

func inProcess(t *testing.T, profile string) way {
	t.Helper()
	s, err := claudesim.New(parse(t, profile), claudesim.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return way{"in the process", s, s.Client(), "http://claude.test"}
}

func parse(t *testing.T, profile string) *claudesim.Profile {
	t.Helper()
	p, err := claudesim.ParseProfile([]byte(profile))
	require.NoError(t, err)
	return p
}
