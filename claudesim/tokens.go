package claudesim

import "unicode/utf8"

// Tokens are estimated, not counted with the service's vocabulary: a quarter of a token for an ASCII byte, half for
// other letters of alphabetic scripts, one for a CJK character, two for an emoji. The estimate adds up over
// concatenation, so that an answer can be cut at an exact number of tokens.
const quartersPerToken = 4

func quarters(r rune) int64 {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case r < 0x0800:
		return 2
	case r < 0x10000:
		return 4
	default:
		return 8
	}
}

// tokensOf estimates the tokens of a text for a model, rounded up; 0 only for the empty text.
func tokensOf(text string, m Model) int64 {
	var q int64
	for _, r := range text {
		q += quarters(r)
	}
	return scale(q, m)
}

// scale turns quarters into tokens. Newer models split text finer: thirteen tokens where others need ten.
func scale(q int64, m Model) int64 {
	if m.Newer {
		return (q*13 + quartersPerToken*10 - 1) / (quartersPerToken * 10)
	}
	return (q + quartersPerToken - 1) / quartersPerToken
}

// cutTokens is the longest beginning of text that has at most limit tokens, cut between characters.
func cutTokens(text string, limit int64, m Model) string {
	var q int64
	for i, r := range text {
		q += quarters(r)
		if scale(q, m) > limit {
			return text[:i]
		}
	}
	return text
}

// Overheads that the service adds around what the caller wrote.
const (
	tokensPerRequest = 8
	tokensPerMessage = 3
	tokensForTools   = 290
	tokensForSchema  = 60
	tokensPerURL     = 1_600 // an image or document by URL, which is not fetched
	tokensPerPage    = 1_500 // a page of a PDF
)

// imageTokens is the service's rule of thumb: a token for 750 pixels, large images scaled down before.
func imageTokens(width, height int) int64 {
	return min(max(int64(width)*int64(height)/750, 1), 1_600)
}
