package main

import "strings"

// oddities are what real metadata has and every reader must bear: none of these records is broken. The n-th record gets
// the one at n modulo 97, if there is one.
var oddities = map[int]func(*record){
	3: func(r *record) { // a line separator inside a string, as it is
		r.setDescription("First line\u2028second line\u2028third line, pasted from a word processor.")
		r.form = rawline
	},
	11: func(r *record) { // line ends and tabs inside a string
		r.setDescription("Made with:\r\n\t- a long exposure\r\n\t- a cheap tripod\r\n\t- patience\r\n")
	},
	19: func(r *record) { // quotes, backslashes, braces, a path
		r.Title = `"Untitled" (C:\Pictures\new\best {{.title}} ever)`
	},
	27: func(r *record) { // JSON inside JSON
		r.setDescription(`{"caption":"a heron","tags":["bird","water"],"nested":"{\"a\":1}"}`)
	},
	35: func(r *record) { // markup
		r.setDescription(`<p>Hill &amp; valley, <b>4K</b>. See <a href="https://example.com/w?id=7&amp;size=l">the page</a>.</p><!-- -->`)
	},
	43: func(r *record) { // joined emoji, skin tones, flags, letters built from marks
		r.Title = "👩🏽‍🚀 on the Moon 🌕 – 👨‍👩‍👧‍👦 at home 🇳🇵 · Å = A + ̊"
	},
	51: func(r *record) { // two directions in one line
		r.Title = "غروب Sunset שקיעה 4K"
		r.setDescription("קובץ: sunset_4k.png (גרסה 2), \u200fالحجم 12.5 MB\u200f")
	},
	59: func(r *record) { r.setDescription("   ") },
	67: func(r *record) { // letters outside the first plane, and stacked marks
		r.Title = "𝕹𝖎𝖌𝖍𝖙 𝒔𝒌𝒚 over the 𠮷野 hills"
		r.setDescription("Z̷̢̛a̶͓͌l̵̡̈g̷̰̾o̸͉͝ style lettering over a starry sky.")
	},
	75: func(r *record) { // one very long word, and no spaces
		r.setDescription(strings.Repeat("nightskymountainlakereflection", 40))
	},
	83: func(r *record) { // a title that is nearly nothing
		r.Title = "."
		r.setDescription("Grey gradient, no subject at all.")
	},
	91: func(r *record) { r.Colors = []string{} },
}

func (r *record) setDescription(text string) { r.Description = &text }
