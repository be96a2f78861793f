package claudesim

import (
	"crypto/sha256"
	"encoding/json"
	"time"
)

// A cachePoint is the part of a prompt that the caller asked to keep: everything up to its last mark.
type cachePoint struct {
	key    [sha256.Size]byte
	tokens int64
	long   bool // for an hour instead of five minutes
}

// mark notes a cache_control on what was read last.
func (c *checker) mark(m *cacheMark) {
	if m == nil {
		return
	}
	switch {
	case m.Type != "ephemeral":
		c.refuse("cache_control: Input tag '%s' found using 'type' does not match any of the expected tags: 'ephemeral'", m.Type)
	case m.TTL != "" && m.TTL != "5m" && m.TTL != "1h":
		c.refuse("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
	default:
		c.cached = &cachePoint{key: sha256.Sum256([]byte(c.model + "\x00" + c.prefix.String())), tokens: c.tokens, long: m.TTL == "1h"}
	}
}

func (c *checker) markTopLevel() {
	raw, ok := c.fields["cache_control"]
	if !ok || string(raw) == "null" {
		return
	}
	var m cacheMark
	if json.Unmarshal(raw, &m) != nil {
		c.refuse("cache_control: Input should be a valid dictionary")
		return
	}
	c.mark(&m)
}

// leastCached is the shortest prompt that is kept; shorter ones are simply read again.
const leastCached = 1024

// A promptCache remembers prompts. Like the service's, it makes the usage of a call depend on the calls before it.
type promptCache map[[sha256.Size]byte]time.Time

// maxCached bounds the memory of the cache; expired entries go first.
const maxCached = 10_000

// split says how the input of a request is counted at a time, and whether it would be written to the cache.
func (c promptCache) split(q *request, at time.Time) Usage {
	p := q.cached
	if p == nil || p.tokens < leastCached {
		return Usage{Input: q.inputTokens}
	}
	u := Usage{Input: q.inputTokens - p.tokens}
	switch {
	case at.Before(c[p.key]):
		u.CacheRead = p.tokens
	case p.long:
		u.CacheWrite1h = p.tokens
	default:
		u.CacheWrite5m = p.tokens
	}
	return u
}

// keep stores a prompt that has been processed, or keeps it for longer.
func (c promptCache) keep(q *request, at time.Time) {
	p := q.cached
	if p == nil || p.tokens < leastCached {
		return
	}
	life := 5 * time.Minute
	if p.long {
		life = time.Hour
	}
	if len(c) >= maxCached {
		for k, until := range c {
			if !at.Before(until) {
				delete(c, k)
			}
		}
		if len(c) >= maxCached {
			clear(c)
		}
	}
	c[p.key] = at.Add(life)
}
