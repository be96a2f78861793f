package quarantine

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// checkUTF8 finds runs of bytes that are not UTF-8.
func checkUTF8(_ context.Context, e *exam) ([]Finding, int) {
	if utf8.Valid(e.body) {
		return nil, 0
	}
	var m marks
	for i := 0; i < len(e.body); {
		from := i
		for i < len(e.body) {
			r, n := utf8.DecodeRune(e.body[i:])
			if r != utf8.RuneError || n != 1 {
				break
			}
			i++
		}
		if i > from {
			m.add(from, i, "invalid-utf8")
			continue
		}
		_, n := utf8.DecodeRune(e.body[i:])
		i += n
	}
	fault := e.json || e.f.Check != nil
	return e.findings(m, func(each mark) Finding {
		text := "the byte 0x" + hex.EncodeToString(e.body[each.from:each.from+1]) + " is not UTF-8"
		if n := each.to - each.from; n > 1 {
			text = fmt.Sprintf("%d bytes are not UTF-8: %s", n, hexBytes(e.body[each.from:each.to]))
		}
		return Finding{Text: text, Fault: fault, Repairs: []string{nameStripUTF8, nameReplaceUTF8}}
	})
}

// hexBytes shows the first of some bytes.
func hexBytes(b []byte) string {
	const most = 16
	text := fmt.Sprintf("% x", clip(b, most))
	if len(b) > most {
		text += " …"
	}
	return text
}

// checkControl finds control characters that strip-control takes out: as they are, and as escapes.
func checkControl(_ context.Context, e *exam) ([]Finding, int) {
	var raw, escaped marks
	for i := 0; i < len(e.body); {
		n := 1
		switch c := e.body[i]; {
		case c == '\\' && e.json:
			var control bool
			if n, control = controlEscape(e.body[i:]); control {
				escaped.add(i, i+n, "escaped-control")
			}
		case c < utf8.RuneSelf:
			if isControl(rune(c)) {
				raw.add(i, i+1, "control")
			}
		default:
			var r rune
			if r, n = utf8.DecodeRune(e.body[i:]); isControl(r) {
				raw.add(i, i+n, "control")
			}
		}
		i += n
	}
	repairs := []string{nameStripControl}
	switch {
	case slices.Contains(e.steps, nameStripControl) && !slices.Contains(e.steps, nameFixJSON):
		repairs = []string{nameStripControl, nameFixJSON}
	case slices.Contains(e.steps, nameFixJSON) && !slices.Contains(e.steps, nameStripControl):
		repairs = []string{nameFixJSON, nameStripControl}
	}
	list, n := e.findings(raw, func(each mark) Finding {
		r, _ := utf8.DecodeRune(e.body[each.from:])
		return Finding{
			Text:  fmt.Sprintf("the control character %s stands there as it is", runeName(r)),
			Fault: e.json && r < ' ', Repairs: repairs,
		}
	})
	more, m := e.findings(escaped, func(each mark) Finding {
		return Finding{Text: fmt.Sprintf("the control character %s, written as %s", runeName(escapedRune(e.body[each.from:])), e.body[each.from:each.to]), Repairs: repairs[:1]}
	})
	return append(list, more...), n + m
}

func escapedRune(b []byte) rune {
	r, _ := textRune(b)
	return r
}

// runeName names a character that cannot be shown.
func runeName(r rune) string {
	if r == 0 {
		return "NUL (U+0000)"
	}
	return fmt.Sprintf("U+%04X", r)
}

// checkSurrogates finds halves of surrogate pairs that stand alone.
func checkSurrogates(_ context.Context, e *exam) ([]Finding, int) {
	if !e.json {
		return nil, 0
	}
	var m marks
	for i := 0; i < len(e.body); {
		if e.body[i] != '\\' {
			i++
			continue
		}
		n := max(escapeLength(e.body[i:]), 1)
		if n == 6 && utf16.IsSurrogate(hex4(e.body[i+2:])) {
			if pairedEscape(e.body[i:]) {
				n = 12
			} else {
				m.add(i, i+n, "lone-surrogate")
			}
		}
		i += n
	}
	return e.findings(m, func(each mark) Finding {
		return Finding{
			Text:  fmt.Sprintf("%s is half of a character that has no other half", e.body[each.from:each.to]),
			Fault: true, Repairs: []string{nameFixSurrogates},
		}
	})
}
