package claudesim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// MaxBody is the largest body that the service takes, in bytes.
const MaxBody = 32 << 20

// decide turns one call into the script of what will happen to it. tooLarge says that the body was longer than what
// was read of it.
func (s *Server) decide(method, path string, header http.Header, body []byte, tooLarge bool) *script {
	s.mu.Lock()
	read := s.plan.read
	s.mu.Unlock()

	var q *request
	var base *reply
	if tooLarge {
		name := pathOther
		if path == "/v1/messages" {
			name = pathMessages
		}
		q, base = bare(name, header, body), failure(http.StatusRequestEntityTooLarge, "request_too_large", samples["413"].message)
	} else {
		q, base = answerTo(method, path, header, body, read)
	}
	d := s.judge(q, base)
	sc := d.plan.stage(q, d.reply, d.rule, d.call)
	sc.counted = d.counted
	if d.limited != nil && sc.header.Get("Content-Type") != "text/html" {
		maps.Copy(sc.header, d.limited)
	}
	return sc
}

// A judgement is what the state of the server makes of a call.
type judgement struct {
	plan    *plan
	reply   *reply
	rule    *compiledRule // may be nil
	call    *Call
	limited http.Header // the headers of the rate limits
	counted bool        // the call takes one of the concurrent places
}

// judge counts a call, and finds what refuses it or makes it fail.
func (s *Server) judge(q *request, base *reply) judgement {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.first.IsZero() {
		s.first = now
		s.sockets.wake()
	}
	call := &Call{Time: now, Path: q.path, Hash: q.hash, Event: q.event, Model: q.model, Ordinal: s.ordinals[q.hash]}
	s.meter.arrive(call)
	call.RequestID = requestID(q.hash, call.N)
	at := moment{now.Sub(s.started), now.Sub(s.first)}
	d := judgement{plan: s.plan, reply: base, call: call}

	if d.rule = s.plan.refusing(at); d.rule != nil {
		base.charge(d.rule.Do)
		return d
	}
	if refused := s.plan.gate(q); refused != nil {
		d.reply = refused
		return d
	}
	limits := s.limitsOf(q, now)
	if refused := s.admit(q, limits, now); refused != nil {
		call.Throttled = true
		d.reply = refused
	} else {
		s.ordinals[q.hash]++
		call.Ordinal = s.ordinals[q.hash]
		d.rule, d.reply = s.faulted(q, base, at, now, call.Ordinal)
		if q.path == pathMessages {
			s.inWork++
			d.counted = true
		}
	}
	if limits != nil {
		if d.reply.billed {
			limits.spend(d.reply.usage.Output)
		}
		d.limited = http.Header{}
		limits.headers(d.limited, now)
	}
	return d
}

// answerTo reads a call and makes the reply that it gets when nothing goes wrong. It looks at nothing but the call.
func answerTo(method, path string, header http.Header, body []byte, read readRules) (*request, *reply) {
	id, oneModel := strings.CutPrefix(path, "/v1/models/")
	switch {
	case path == "/v1/messages" && method == http.MethodPost:
		q := readRequest(pathMessages, header, body, read)
		return q, messageReply(q)
	case path == "/v1/messages/count_tokens" && method == http.MethodPost:
		q := readRequest(pathCount, header, body, read)
		if q.bad != nil {
			return q, q.bad
		}
		return q, document(map[string]any{"input_tokens": q.inputTokens})
	case (path == "/v1/models" || oneModel) && method == http.MethodGet:
		q := bare(pathModels, header, body)
		if oneModel {
			q.model = id
			m, ok := read.models.find(id)
			if !ok {
				return q, failure(http.StatusNotFound, "not_found_error", "model: "+id)
			}
			return q, document(m.info())
		}
		return q, modelList(read.models)
	}
	q := bare(pathOther, header, body)
	switch path {
	case "/v1/messages", "/v1/messages/count_tokens", "/v1/models":
		return q, failure(http.StatusMethodNotAllowed, invalid, "Method Not Allowed")
	}
	return q, failure(http.StatusNotFound, "not_found_error", "Not found")
}

func bare(path string, header http.Header, body []byte) *request {
	sum := sha256.Sum256(body)
	return &request{path: path, header: header, body: body, hash: hex.EncodeToString(sum[:]), key: credential(header), event: header.Get(EventHeader), version: header.Get("anthropic-version")}
}

func modelList(c catalogue) *reply {
	data := make([]any, 0, len(c.list))
	for _, m := range c.list {
		data = append(data, m.info())
	}
	return document(map[string]any{"data": data, "has_more": false, "first_id": c.list[0].ID, "last_id": c.list[len(c.list)-1].ID})
}

func messageReply(q *request) *reply {
	if q.bad != nil {
		return q.bad
	}
	a := think(q)
	a.goOn(q.begun)
	a.limit(q)
	return &reply{status: http.StatusOK, header: http.Header{}, answer: a, usage: Usage{Input: q.inputTokens, Output: a.tokens(q.spec)}, billed: true}
}

// refusing finds a rule that closes the door for now.
func (p *plan) refusing(at moment) *compiledRule {
	for _, r := range p.rules {
		if r.Do.Fault == faultRefuse && r.onlyWindow() && r.inWindow(at) {
			r.fired++
			return r
		}
	}
	return nil
}

// gate checks what the service checks before it looks at the body.
func (p *plan) gate(q *request) *reply {
	const kind = "authentication_error"
	switch {
	case q.key == "":
		return failure(http.StatusUnauthorized, kind, "x-api-key header is required")
	case len(p.keys) > 0 && !p.keys[q.key]:
		if q.header.Get("x-api-key") == "" {
			return samples["auth_bearer"].reply(time.Time{})
		}
		return samples["auth"].reply(time.Time{})
	case q.version == "":
		return badRequest("anthropic-version: header is required")
	}
	if _, err := time.Parse(time.DateOnly, q.version); err != nil {
		return badRequest(fmt.Sprintf("anthropic-version: %q is not a valid version", q.version))
	}
	return nil
}

// limitsOf finds the buckets of a request's model; nil for calls that are not limited.
func (s *Server) limitsOf(q *request, now time.Time) *buckets {
	if q.path != pathMessages {
		return nil
	}
	b := s.buckets[q.spec.ID]
	if b == nil {
		b = newBuckets(s.plan.profile.Limits, now)
		s.buckets[q.spec.ID] = b
	}
	return b
}

func (s *Server) admit(q *request, limits *buckets, now time.Time) *reply {
	if limits == nil {
		return nil
	}
	if most := s.plan.profile.Limits.Concurrency; most > 0 && s.inWork >= most {
		r := failure(http.StatusTooManyRequests, rate, "Number of concurrent connections has exceeded your rate limit. Please try again later.")
		r.header.Set("retry-after", "1")
		limits.refill(now)
		return r
	}
	// What is read from the cache does not count toward the input limit.
	return limits.admit(q.inputTokens-s.cache.split(q, now).CacheRead, now)
}

// faulted finds the fault that applies to a call, and what the reply becomes by it.
func (s *Server) faulted(q *request, base *reply, at moment, now time.Time, ordinal int64) (*compiledRule, *reply) {
	r := base
	if r.answer != nil {
		u := s.cache.split(q, now)
		u.Output = r.usage.Output
		r.usage = u
		if q.continues && q.spec.Newer && !s.paused[q.begun] {
			r = samples["prefill"].reply(time.Time{})
		}
	}
	rule := s.plan.pick(q, ordinal, at)
	if rule == nil {
		return nil, r
	}
	if rule.Do.replaces() {
		return rule, s.plan.replacement(rule.Do, r, now)
	}
	reshape(q, r, rule.Do)
	r.charge(rule.Do)
	if a := r.answer; a != nil && a.stop == stopPause && len(a.blocks) > 0 && len(s.paused) < maxCached {
		s.paused[a.blocks[0].text] = true
	}
	return rule, r
}

// requestID is unique for each call of a server.
func requestID(hash string, n int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", hash, n))
	return "req_01" + hex.EncodeToString(sum[:11])
}
