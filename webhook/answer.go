package webhook

import "unicode/utf8"

// cutMark ends an answer that was longer than is kept. With it, no JSON is taken for whole that is not.
const cutMark = "… (the reply was longer)"

// answer gives a reply as the journal keeps it; never nil.
func (h *Handler) answer(r reply) []byte {
	body := append([]byte{}, h.secrets.hide(r.body)...)
	if r.cut {
		body = append(wholeRunes(body), cutMark...)
	}
	return body
}

// wholeRunes drops the beginning of a character at the end of a text that was cut.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if at := len(b) - i; utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return b[:at]
			}
			break
		}
	}
	return b
}
