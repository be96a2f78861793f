package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/siding-dev/siding"
)

// parseRecord reads a record: valid UTF-8, one JSON value, no lone surrogates. Numbers stay as they are written, also
// 12345678901234567890 and 1e999. Of a key that an object has twice the last value counts, as with most readers of
// JSON. Nesting deeper than 10,000 is refused.
func parseRecord(body []byte) (any, *siding.Failure) {
	if at := invalidUTF8(body); at >= 0 {
		return nil, bodyFaultAt(siding.CauseInvalidUTF8, int64(at), "the record is not valid UTF-8: byte 0x%02x at offset %d", body[at], at)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, bodyFaultAt(siding.CauseInvalidJSON, 0, "the record is not valid JSON: it is empty")
	}
	if f := validJSON(body); f != nil {
		return nil, f
	}
	if at := loneSurrogate(body); at >= 0 {
		return nil, bodyFaultAt(siding.CauseInvalidText, int64(at), "the record has a lone surrogate, %s at offset %d: half of a character that has no other half", body[at:at+6], at)
	}
	return decode(body), nil
}

// invalidUTF8 gives the offset of the first byte that is not part of valid UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func validJSON(body []byte) *siding.Failure {
	var whole json.RawMessage
	err := json.Unmarshal(body, &whole)
	if err == nil {
		return nil
	}
	offset := int64(len(body))
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		// The decoder counts the bytes that it has read, the one at fault included, except at the end of the text.
		offset = min(max(syntax.Offset-1, 0), int64(len(body)))
		if syntax.Offset >= int64(len(body)) && syntax.Error() == "unexpected end of JSON input" {
			offset = int64(len(body))
		}
	}
	return bodyFaultAt(siding.CauseInvalidJSON, offset, "the record is not valid JSON: %s, at offset %d", err, offset)
}

// decode reads valid JSON with its numbers as written.
func decode(valid []byte) any {
	dec := json.NewDecoder(bytes.NewReader(valid))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return nil // not reached: the text is valid
	}
	return v
}

// loneSurrogate gives the offset of the first \u escape of valid JSON that is half a surrogate pair, or -1. The service
// refuses such text, and Go would put U+FFFD in its place without a word.
func loneSurrogate(valid []byte) int {
	for i := 0; i < len(valid); i++ {
		if valid[i] != '\\' {
			continue // outside of strings valid JSON has no backslash
		}
		if valid[i+1] != 'u' {
			i++
			continue
		}
		switch unit := hex4(valid[i+2:]); {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return i
		case unit >= 0xD800 && unit <= 0xDBFF:
			next := valid[i+6:]
			if len(next) < 6 || next[0] != '\\' || next[1] != 'u' {
				return i
			}
			if low := hex4(next[2:]); low < 0xDC00 || low > 0xDFFF {
				return i
			}
			i += 6
		}
		i += 5
	}
	return -1
}

func hex4(b []byte) (unit int) {
	for _, c := range b[:4] {
		unit <<= 4
		switch {
		case c >= 'a':
			unit |= int(c-'a') + 10
		case c >= 'A':
			unit |= int(c-'A') + 10
		default:
			unit |= int(c - '0')
		}
	}
	return unit
}
