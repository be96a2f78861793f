package claudesim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
)

// versionWithoutSampling is the API version from which temperature, top_p and top_k are refused.
const versionWithoutSampling = "2026-10-21"

// EventHeader is an optional request header that names the caller's unit of work, so that the meter can tell two
// events with equal bytes from one event paid twice.
const EventHeader = "X-Siding-Event"

// A request is one call: what came over the wire, and what could be read of it. Fields below bad are best effort when
// bad is set.
type request struct {
	path    string // messages, count_tokens, models
	header  http.Header
	key     string // the credential as sent
	event   string
	body    []byte
	hash    string // hex SHA-256 of the exact body bytes
	version string

	bad *reply // the first validation error; nil for a request that can be answered

	model       string
	spec        Model
	maxTokens   int64
	stream      bool
	usInference bool
	words       string // all text that the caller wrote: the system prompt and every message; the raw body if unreadable
	asked       string // the text of the caller's turns only, which the answer is made from
	begun       string // the beginning of the answer that the caller gave, if the last turn is the model's
	continues   bool
	format      json.RawMessage // schema of the structured output
	tool        *tool           // the tool that must be called
	stops       []string
	inputTokens int64
	cached      *cachePoint
}

// A tool is what a request says of one tool.
type tool struct {
	Type   string          `json:"type"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
	Strict bool            `json:"strict"`
}

// rules are the parts of a profile that decide how a request is read.
type readRules struct {
	models  catalogue
	lenient bool  // accept any JSON Schema as structured output
	image   int64 // the largest image, in bytes of its base64
}

// readRequest reads and checks a call of /v1/messages or /v1/messages/count_tokens.
func readRequest(path string, header http.Header, body []byte, rules readRules) *request {
	sum := sha256.Sum256(body)
	q := &request{
		path: path, header: header, body: body, hash: hex.EncodeToString(sum[:]),
		key: credential(header), event: header.Get(EventHeader), version: header.Get("anthropic-version"),
	}
	if err := checkJSON(body); err != nil {
		q.words = strings.ToValidUTF8(string(body), "�")
		q.bad = badRequest(err.Error())
		return q
	}
	c := checker{request: q, rules: rules}
	c.check()
	return q
}

// credential is the key of a request, from either of the two headers that carry one.
func credential(h http.Header) string {
	if key := h.Get("x-api-key"); key != "" {
		return key
	}
	if scheme, key, ok := strings.Cut(h.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(key)
	}
	return ""
}
