package siding

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// FingerprintVersion changes when [Fingerprint] groups differently, so that old dead letters can be grouped anew.
const FingerprintVersion = "2"

// Fingerprint gives the group key of a failure: its version, and a hash of the cause and of [NormalizeError]. It depends on
// nothing else, takes time linear in the text, and never fails.
func Fingerprint(cause Cause, text string) string {
	sum := sha256.Sum256([]byte(string(cause) + "\x00" + NormalizeError(text)))
	return FingerprintVersion + "-" + hex.EncodeToString(sum[:6])
}

// normalWords bounds how many words tell one fault from another: what does comes early, and the same fault is told at any
// length.
const normalWords = 64

// NormalizeError gives what is left of the text of a failure without the values in it: its words in lower case, with # in
// the place of one value or of several in a row.
//
// Values are numbers with their units, identifiers, hashes, quoted strings, paths, addresses, hosts, times, JSON, and what
// follows an equals sign. Words are all else, and among it what tells faults apart: names of fields and JSON Pointers
// (without the places in lists), statuses and codes of errors, and names of exceptions. Punctuation does not count, nor do
// the frames of a stack, but for the innermost function. The text is taken as [Scrub] leaves it within [MaxErrorText].
func NormalizeError(text string) string {
	head, tail := withoutMiddle(Scrub(text, MaxErrorText))
	head, in := withoutFrames(head)
	n := normalizer{cut: tail != "" || endsCut(head)}
	n.text(head, 0)
	if tail != "" {
		var last string
		if tail, last = withoutFrames(tail); in == "" {
			in = last
		}
		n.cut = endsCut(tail)
		n.between()
		n.text(tail, 0)
	}
	n.between()
	n.parts(in, rest{}, false)
	return strings.Join(n.words, " ")
}

// withoutMiddle takes a text apart that was cut in its middle: what came before, and after it the lines that are whole.
func withoutMiddle(text string) (head, tail string) {
	const end = " bytes left out …\n"
	before, behind, found := strings.Cut(text, "\n… ")
	if !found {
		return text, ""
	}
	number, after, found := strings.Cut(behind, end)
	if !found || strings.Trim(number, "0123456789") != "" {
		return text, ""
	}
	for found { // what a program has cut may be cut once more
		_, tail, _ = strings.Cut(after, "\n")
		_, after, found = strings.Cut(tail, end)
	}
	return before, tail + "\n"
}

// endsCut tells whether a text goes on somewhere else.
func endsCut(text string) bool {
	text = strings.TrimRight(text, " \t\n\"'`)]}")
	return strings.HasSuffix(text, "…") || strings.HasSuffix(text, "...")
}
