package claudesim

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"unicode"
)

// A muse is what answers are made from: the words of the prompt, and dice that fall the same way for the same prompt.
type muse struct {
	*rand.Rand
	words []string
}

// maxMuse bounds how much of a prompt is searched for words.
const maxMuse = 16 << 10

// dull are words that would make poor tags.
var dull = func() map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq("about after also among and answer before below been being both could does each field for from give given " +
		"have here http https image into json just keep like list make more most must only other over please reply return schema should some such tags tag text that " +
		"the their them then there these they this those title description through under very what when where which while with would write your you are not was were will") {
		m[w] = true
	}
	return m
}()

// spare words serve prompts that have none of their own.
var spare = []string{"wagon", "signal", "platform", "lantern", "junction", "meadow", "harbor", "granite", "copper", "window"}

// newMuse seeds the dice from a text and collects its words, those of the last lines first: that is where a prompt
// carries its record.
func newMuse(text string, again int) *muse {
	sum := sha256.Sum256([]byte(text))
	m := &muse{Rand: rand.New(rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:])+uint64(again)))}
	if len(text) > maxMuse {
		text = strings.ToValidUTF8(text[len(text)-maxMuse:], "")
	}
	seen := map[string]bool{}
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		word = strings.ToLower(word)
		n := len([]rune(word))
		short := n < 4 && word[0] < 0x80
		if short || n > 24 || dull[word] || seen[word] {
			continue
		}
		seen[word] = true
		m.words = append(m.words, word)
	}
	if len(m.words) < 3 {
		m.words = append(m.words, spare...)
	}
	m.Shuffle(len(m.words), func(i, j int) { m.words[i], m.words[j] = m.words[j], m.words[i] })
	return m
}

func (m *muse) word() string { return m.words[m.IntN(len(m.words))] }

// chance is true with the given probability.
func (m *muse) chance(p float64) bool { return m.Float64() < p }

// sentence makes a plain sentence around a few words of the prompt.
func (m *muse) sentence() string {
	forms := []string{"It shows {} with {}.", "This is about {} and {}.", "A scene of {}, close to {}.", "Mostly {}; some {} as well."}
	form := forms[m.IntN(len(forms))]
	for strings.Contains(form, "{}") {
		form = strings.Replace(form, "{}", m.word(), 1)
	}
	return form
}

// phrase makes a few words without punctuation.
func (m *muse) phrase() string {
	n := 1 + m.IntN(3)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = m.word()
	}
	return strings.Join(parts, " ")
}

// prose is an answer in free text.
func (m *muse) prose() string {
	parts := make([]string, 2+m.IntN(4))
	for i := range parts {
		parts[i] = m.sentence()
	}
	return strings.Join(parts, " ")
}
