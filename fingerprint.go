package siding

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FingerprintVersion changes when [Fingerprint] groups differently, so that old dead letters can be grouped anew.
const FingerprintVersion = "1"

// fingerprintText bounds how much of a text is looked at, in bytes: what tells faults apart comes early.
const fingerprintText = 4 << 10

// Fingerprint gives the group key of a failure: its version, and a hash of the cause and of the text without the values
// in it (numbers, identifiers, quoted strings, paths, addresses). It takes time linear in the text.
func Fingerprint(cause Cause, text string) string {
	sum := sha256.Sum256([]byte(string(cause) + "\x00" + NormalizeError(text)))
	return FingerprintVersion + "-" + hex.EncodeToString(sum[:6])
}

// NormalizeError gives the text of a failure without the values in it: words with a digit become #, quoted strings "…",
// paths and addresses /…, and runs of space one space.
func NormalizeError(text string) string {
	text = Scrub(text, fingerprintText)
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == '\'' || c == '`':
			if n := quoted(text[i:]); n > 0 {
				b.WriteString(`"…"`)
				i += n
				continue
			}
			b.WriteByte(c)
			i++
		case c == ' ' || c == '\t' || c == '\n':
			for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n') {
				i++
			}
			b.WriteByte(' ')
		default:
			n := wordLen(text[i:])
			b.WriteString(normalWord(text[i : i+n]))
			i += n
		}
	}
	return strings.TrimSpace(b.String())
}

// quoted gives the length of the quoted string that s begins with, or 0: an apostrophe within a word is none.
func quoted(s string) int {
	const longest = 1024
	for i := 1; i < len(s) && i < longest; i++ {
		switch s[i] {
		case '\\':
			i++
		case s[0]:
			if s[0] == '\'' && i+1 < len(s) && isWord(s[i+1]) {
				return 0
			}
			return i + 1
		case '\n':
			return 0
		}
	}
	return 0
}

// wordLen gives the length of the run up to the next space or quote, at least 1.
func wordLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case ' ', '\t', '\n', '"', '`':
			return i
		case '\'':
			if !isWord(s[i-1]) {
				return i
			}
		}
	}
	return len(s)
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func normalWord(w string) string {
	if strings.Contains(w, "://") || strings.Count(w, "/") > 1 || strings.HasPrefix(w, "/") && len(w) > 1 {
		return "/…"
	}
	if strings.IndexFunc(w, unicode.IsDigit) < 0 {
		return w
	}
	// The part of a word that holds a digit goes; what stands around it (brackets, a field's name, a sign) stays.
	var b strings.Builder
	for len(w) > 0 {
		n := 0
		digit := false
		for _, r := range w {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
				break
			}
			digit = digit || unicode.IsDigit(r)
			n += len(string(r))
		}
		switch {
		case n == 0:
			_, n = utf8.DecodeRuneInString(w)
			b.WriteString(w[:n])
		case digit:
			b.WriteByte('#')
		default:
			b.WriteString(w[:n])
		}
		w = w[n:]
	}
	return b.String()
}
