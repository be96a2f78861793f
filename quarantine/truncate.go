package quarantine

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/siding-dev/siding/claude"
)

// units are what truncate counts.
var units = []string{"chars", "bytes", "tokens"}

// newTruncate reads the arguments of truncate: field, max and unit.
func newTruncate(text string) (Repair, error) {
	a, err := parseArguments(text, "field", "max", "unit")
	if err != nil {
		return nil, err
	}
	if err := a.need("max"); err != nil {
		return nil, err
	}
	p, err := a.pointer("field")
	if err != nil {
		return nil, err
	}
	most, err := strconv.ParseInt(a.get("max"), 10, 64)
	if err != nil || most < 0 {
		return nil, fmt.Errorf("max: %q is no number from 0 up", shorten(a.get("max")))
	}
	unit := a.get("unit")
	if !a.has("unit") {
		unit = units[0]
	}
	if !slices.Contains(units, unit) {
		return nil, fmt.Errorf("unit: %q is none; it is %s", shorten(unit), words(units))
	}
	return fieldRepair{nameTruncate, a, func(d Draft) ([]byte, error) {
		if p.whole() && !isJSON(d.ContentType) {
			return truncateText(d.Body, most, unit)
		}
		return truncateField(d.Body, p, most, unit)
	}}, nil
}

// truncateText shortens a body that is plain text.
func truncateText(body []byte, most int64, unit string) ([]byte, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("the text is not valid UTF-8; mend that first")
	}
	return body[:cutAt(body, most, unit, utf8.DecodeRune)], nil
}

// truncateField shortens a text in a JSON body; what stays of it keeps its bytes.
func truncateField(body []byte, p pointer, most int64, unit string) ([]byte, error) {
	s, err := find(body, p)
	if err != nil || len(s.members) == 0 {
		return body, err
	}
	m := s.members[len(s.members)-1]
	raw := body[m.value:m.end]
	switch {
	case raw[0] != '"':
		return nil, fmt.Errorf("%s is no text, and only a text can be truncated", p.shown())
	case !utf8.Valid(raw):
		return nil, fmt.Errorf("%s is not valid UTF-8; mend that first", p.shown())
	}
	inner := raw[1 : len(raw)-1]
	end := cutAt(inner, most, unit, textRune)
	if end == len(inner) {
		return body, nil
	}
	return splice(body, edit{m.value + 1 + end, m.end - 1, ""}), nil
}

// textRune reads the first character of what stands between the quotation marks of a JSON string, and how many bytes it
// is written with. Half a surrogate pair is U+FFFD.
func textRune(inner []byte) (rune, int) {
	if inner[0] != '\\' {
		return utf8.DecodeRune(inner)
	}
	switch inner[1] {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r := hex4(inner[2:])
		if !utf16.IsSurrogate(r) {
			return r, 6
		}
		if len(inner) >= 12 && inner[6] == '\\' && inner[7] == 'u' {
			if both := utf16.DecodeRune(r, hex4(inner[8:])); both != utf8.RuneError {
				return both, 12
			}
		}
		return utf8.RuneError, 6
	}
	return rune(inner[1]), 2
}

// How far truncate looks, in characters: back for the end of a word, and on for the end of a character that is made of
// several.
const (
	lookBack  = 100
	lookAhead = 32
)

// cutAt gives where a text is cut so that at most so many units stay: at the end of a word, where one ends within the last
// characters that fit; else between characters, and not inside of one that is made of several, such as a letter with its
// marks or a flag. White space at the end goes too. next reads the first character of what is left.
func cutAt(text []byte, most int64, unit string, next func([]byte) (rune, int)) int {
	type char struct {
		r    rune
		from int
	}
	var near []char // those that fit last, and then those that do not fit any more
	count := counter{unit: unit}
	fits := -1 // in near: the first that does not fit
	for i := 0; i < len(text); {
		r, n := next(text[i:])
		if fits < 0 && count.add(r) > most {
			near = near[max(0, len(near)-lookBack):]
			fits = len(near)
		}
		if fits >= 0 && len(near) == fits+lookAhead {
			break
		}
		if near = append(near, char{r, i}); fits < 0 && len(near) == 4*lookBack {
			near = append(near[:0], near[len(near)-lookBack:]...)
		}
		i += n
	}
	if fits < 0 {
		return len(text)
	}
	space := func(i int) bool { return unicode.IsSpace(near[i].r) }
	end := fits
	for end > 0 && !space(end) { // back to the white space after a word
		end--
	}
	for end > 0 && space(end-1) {
		end--
	}
	if end == 0 { // no word ends here
		runes := make([]rune, len(near))
		for i := range near {
			runes[i] = near[i].r
		}
		end = wholeCharacters(runes, fits)
	}
	for end > 0 && space(end-1) {
		end--
	}
	if len(near) == 0 {
		return 0
	}
	return near[end].from
}

// wholeCharacters gives how many of the runes, at most so many, are whole characters as people see them.
func wholeCharacters(runes []rune, most int) int {
	end, at := 0, 0
	for g := graphemes.FromString(string(runes)); g.Next(); {
		if at += utf8.RuneCountInString(g.Value()); at > most {
			break
		}
		end = at
	}
	if end == 0 {
		return most // one that has no end: better half of it than nothing
	}
	return end
}

// counter counts characters in a unit.
type counter struct {
	unit   string
	n      int64
	tokens claude.TokenCount
}

// add counts one more character and gives the sum.
func (c *counter) add(r rune) int64 {
	switch c.unit {
	case "tokens":
		c.tokens.Add(r)
		return c.tokens.High()
	case "bytes":
		c.n += int64(utf8.RuneLen(r))
	default:
		c.n++
	}
	return c.n
}
