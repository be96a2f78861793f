package webhook

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// resultOf makes a message's result of an answer: JSON as it is, but for white space; any other text as a JSON string;
// nothing of nothing.
func resultOf(answer []byte) []byte {
	text := bytes.TrimSpace(answer)
	if len(text) == 0 {
		return nil
	}
	var compact bytes.Buffer
	if utf8.Valid(text) && json.Compact(&compact, text) == nil {
		return compact.Bytes()
	}
	quoted, err := json.Marshal(strings.ToValidUTF8(string(text), "\ufffd"))
	if err != nil {
		return nil // not reached: any string is JSON
	}
	return quoted
}

// cut bounds a text for a failure, at the end of a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
