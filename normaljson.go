package siding

import "strings"

// speaks tells whether JSON is an error in that form, so that its text counts: it has a member that errors have.
func speaks(s string) bool {
	for _, key := range []string{"error", "errors", "message", "detail", "msg", "fault", "error_description"} {
		if strings.Contains(s, `"`+key+`"`) || strings.Contains(s, `'`+key+`'`) {
			return true
		}
	}
	return false
}

// telling tells whether the value under a key says what the fault is.
func telling(key string) bool {
	return tellingKeys[key] || strings.HasSuffix(key, "code") && !strings.Contains(key, "post") && !strings.Contains(key, "zip")
}

var tellingKeys = set("error", "errors", "err", "errno", "type", "kind", "status", "reason", "cause", "message", "msg", "detail", "details",
	"fault", "exception", "category", "error_description", "field", "column", "table", "constraint", "param", "parameter", "property", "pointer",
	"loc", "location", "sqlstate", "error_type", "err_type")

// object takes in the members of JSON that say what the fault is; the others are left out.
func (n *normalizer) object(s string, depth int) {
	for i := 0; i < len(s) && !n.full && depth < 8; {
		at := strings.IndexAny(s[i:], `"'`)
		if at < 0 {
			return
		}
		i += at
		length, end := quoteLen(s[i+1:], rune(s[i]), true)
		if end == 0 {
			return
		}
		key := strings.ToLower(s[i+1 : i+1+length])
		i += 1 + length + end
		rest := strings.TrimLeft(s[i:], " \t\n")
		if rest == "" || rest[0] != ':' {
			continue
		}
		rest = strings.TrimLeft(rest[1:], " \t\n")
		i = len(s) - len(rest)
		size := memberLen(rest)
		if telling(key) && size > 0 {
			n.member(key, rest[:size], depth)
		}
		i += size
	}
}

// memberLen gives the length of the value that s begins with.
func memberLen(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '"', '\'':
		if length, end := quoteLen(s[1:], rune(s[0]), true); end > 0 {
			return 1 + length + end
		}
		return len(s)
	case '{', '[':
		if size := balanced(s); size > 0 {
			return size
		}
		return len(s)
	}
	if end := strings.IndexAny(s, ",}]\n"); end >= 0 {
		return end
	}
	return len(s)
}

// member takes in the value of a member that says what the fault is.
func (n *normalizer) member(key, v string, depth int) {
	n.between()
	switch v[0] {
	case '{':
		n.object(v[1:], depth+1)
	case '[':
		n.word(key)
		n.named = true // names in a list are the place of the fault
		n.text(v[1:], depth+1)
	case '"', '\'':
		n.text(unescaped.Replace(strings.Trim(v, v[:1])), depth+1)
	default:
		n.word(key)
		n.sign = ':'
		n.chunk(strings.TrimSpace(v), rest{text: ","})
	}
}
