package claudesim

import (
	"encoding/binary"
	"unicode/utf8"
)

// text scans a string and returns what is wrong with it. This is where the service is stricter than the standard
// library: surrogates must come in pairs, and bytes must be UTF-8.
func (s *scanner) text() string {
	for s.at++; s.at < len(s.src); {
		s.plain()
		if s.at >= len(s.src) {
			break
		}
		switch c := s.src[s.at]; {
		case c == '"':
			s.at++
			return ""
		case c == '\\':
			if msg := s.escape(); msg != "" {
				return msg
			}
		case c < 0x20:
			return "unexpected control character in string"
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, n := utf8.DecodeRune(s.src[s.at:])
			if r == utf8.RuneError && n == 1 {
				return "str is not valid UTF-8: surrogates not allowed"
			}
			s.at += n
		}
	}
	return endOfData
}

// plain skips eight bytes at a time while they are ordinary ASCII: images come as megabytes of it. A byte is not
// ordinary when its top bit is set, when it is under a space, or when it is a quote or a backslash; the formula finds
// the last three by what a subtraction borrows.
func (s *scanner) plain() {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	below := func(v uint64, n uint64) uint64 { return (v - ones*n) & ^v & tops }
	for s.at+8 <= len(s.src) {
		v := binary.LittleEndian.Uint64(s.src[s.at:])
		if v&tops|below(v, 0x20)|below(v^ones*'"', 1)|below(v^ones*'\\', 1) != 0 {
			return
		}
		s.at += 8
	}
}

func (s *scanner) escape() string {
	if s.at+1 >= len(s.src) {
		s.at = len(s.src)
		return endOfData
	}
	switch s.src[s.at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at += 2
		return ""
	case 'u':
	default:
		return "invalid escaped character in string"
	}
	unit, ok := hex4(s.src, s.at+2)
	switch {
	case !ok && s.at+6 > len(s.src):
		s.at = len(s.src)
		return endOfData
	case !ok:
		return "invalid escaped sequence in string"
	case unit >= 0xDC00 && unit < 0xE000:
		return "invalid high surrogate in string"
	case unit < 0xD800 || unit >= 0xE000:
		s.at += 6
		return ""
	}
	low, ok := hex4(s.src, s.at+8)
	if s.at+7 >= len(s.src) || s.src[s.at+6] != '\\' || s.src[s.at+7] != 'u' || !ok {
		return "no low surrogate in string"
	}
	if low < 0xDC00 || low >= 0xE000 {
		return "invalid low surrogate in string"
	}
	s.at += 12
	return ""
}

func hex4(src []byte, at int) (v rune, ok bool) {
	if at+4 > len(src) {
		return 0, false
	}
	for _, c := range src[at : at+4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}
