package intake

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

var (
	errEscape    = errors.New("an escape that is none")
	errSurrogate = errors.New("a lone surrogate")
)

// unquote gives the text between the quotes of a JSON string: escapes decoded, all other bytes as they are, also those
// that JSON does not allow. errSurrogate: an escape stands for half a character.
func unquote(inner []byte) ([]byte, error) {
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner, nil
	}
	out := make([]byte, 0, len(inner))
	var lone error
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			out = append(out, inner[i])
			continue
		}
		i++
		if i == len(inner) {
			return nil, errEscape
		}
		switch c := inner[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(inner[i+1:])
			if r < 0 {
				return nil, errEscape
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+2 < len(inner) && inner[i+1] == '\\' && inner[i+2] == 'u' {
					low = hex4(inner[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					lone = errSurrogate
				} else {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, errEscape
		}
	}
	return out, lone
}

// hex4 reads four hexadecimal digits, or gives -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// appendQuoted appends valid UTF-8 as a JSON string.
func appendQuoted(out, text []byte) []byte {
	out = append(out, '"')
	from := 0
	for i, c := range text {
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			const digits = "0123456789abcdef"
			out = append(out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		}
	}
	out = append(out, text[from:]...)
	return append(out, '"')
}

// isNumber tells whether b is a number as JSON writes it, of any size.
func isNumber(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	n := digits(b)
	if n == 0 || b[0] == '0' && n > 1 {
		return false
	}
	if b = b[n:]; len(b) > 0 && b[0] == '.' {
		if n = digits(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if n = digits(b); n == 0 {
			return false
		}
		b = b[n:]
	}
	return len(b) == 0
}

func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}
