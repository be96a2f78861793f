package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
)

// record is one line of metadata. A pointer is a field that may be missing; the field order is the file's.
type record struct {
	ID          string   `json:"id"`
	Title       string   `json:"title"`
	Description *string  `json:"description,omitempty"`
	Author      *string  `json:"author,omitempty"`
	Language    string   `json:"language"`
	Resolution  string   `json:"resolution"`
	Colors      []string `json:"colors"`
	License     string   `json:"license"`
	Uploaded    string   `json:"uploaded"`
	Views       int      `json:"views"`
	Comment     *string  `json:"comment,omitempty"`

	form form
}

// form is how the program that exported a record writes JSON: they all differ, and all are right.
type form int

const (
	plain   form = iota // letters as they are
	ascii               // everything else escaped, as older exporters do
	spaced              // a space after each comma and colon
	nulls               // missing fields written as null
	rawline             // U+2028 as it is, which some readers take for the end of a line
)

// record makes the n-th record.
func (d *dice) record(n int) *record {
	lang := pick(d, languages)
	if d.chance(3) {
		lang = languages[0]
	}
	r := &record{
		ID:         fmt.Sprintf("wp-%08x", uint32(d.src.Uint64())),
		Title:      pick(d, lang.subjects) + pick(d, lang.joints) + pick(d, lang.settings),
		Language:   lang.code,
		Resolution: pick(d, resolutions),
		License:    pick(d, licenses),
		Uploaded:   fmt.Sprintf("20%02d-%02d-%02dT%02d:%02d:00Z", 16+d.below(10), 1+d.below(12), 1+d.below(28), d.below(24), d.below(60)),
		Views:      d.below(9) * d.below(4000),
		form:       pick(d, []form{plain, plain, plain, plain, ascii, spaced, nulls}),
	}
	for range 2 + d.below(4) {
		r.Colors = append(r.Colors, fmt.Sprintf("#%06x", d.below(1<<24)))
	}
	if !d.chance(12) {
		author := fmt.Sprintf("user_%04d", d.below(10_000))
		r.Author = &author
	}
	d.describe(r, lang)
	if d.chance(9) {
		comment := pick(d, comments)
		r.Comment = &comment
	}
	if odd := oddities[n%97]; odd != nil && broken[n] == nil {
		odd(r)
	}
	return r
}

// describe gives the record a description: mostly a few sentences, often none, sometimes a very long one.
func (d *dice) describe(r *record, lang language) {
	var text string
	switch {
	case d.chance(8):
		return
	case d.chance(14):
	case d.chance(25):
		for len(text) < 5_000 {
			text += strings.Join(some(d, lang.sentences, 4), " ") + "\n\n"
		}
	default:
		text = strings.Join(some(d, lang.sentences, 1+d.below(4)), " ")
	}
	if text != "" && d.chance(4) {
		text += " " + pick(d, emoji)
	}
	if d.chance(7) {
		r.Title += " " + pick(d, emoji)
	}
	r.Description = &text
}

// line gives the record as its exporter writes it.
func (r *record) line() []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r); err != nil {
		panic(fmt.Sprintf("a record cannot be written: %v", err)) // there is nothing in it that could not be
	}
	line := strings.TrimSuffix(buf.String(), "\n")
	switch r.form {
	case ascii:
		return escaped(line)
	case spaced:
		line = strings.ReplaceAll(line, `,"`, `, "`)
		line = strings.ReplaceAll(line, `":`, `": `)
	case nulls:
		for _, missing := range []struct{ name, before string }{{"description", "language"}, {"author", "language"}, {"comment", ""}} {
			if strings.Contains(line, `"`+missing.name+`":`) {
				continue
			}
			if missing.before == "" {
				line = strings.TrimSuffix(line, "}") + `,"` + missing.name + `":null}`
				continue
			}
			at := `"` + missing.before + `":`
			line = strings.Replace(line, at, `"`+missing.name+`":null,`+at, 1)
		}
	case rawline:
		line = strings.ReplaceAll(line, `\u2028`, "\u2028")
	case plain:
	}
	return []byte(line)
}

// escaped writes every rune outside ASCII as \uXXXX, those beyond the first plane as a pair.
func escaped(line string) []byte {
	var out []byte
	for _, r := range line {
		switch hi, lo := utf16.EncodeRune(r); {
		case r < 0x80:
			out = append(out, byte(r))
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out
}
