package triage

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// prompt is a line that is typed.
type prompt struct {
	label string
	text  []rune
	then  func(text string) tea.Cmd // when it is entered; never for one that was left with Esc
}

// promptLong is the longest line that can be typed, in characters.
const promptLong = 4096

func (m *Model) ask(label, text string, then func(string) tea.Cmd) {
	m.prompt = &prompt{label: label, text: []rune(text), then: then}
}

// confirm asks a question that is answered with y, and does nothing at any other key.
func (m *Model) confirm(question string, then func() tea.Cmd) {
	m.prompt = &prompt{label: question + " (y/n)", then: func(text string) tea.Cmd {
		if text == "y" || text == "yes" {
			return then()
		}
		m.say("nothing was done")
		return nil
	}}
}

func (p *prompt) add(text string) {
	for _, r := range text {
		if r >= ' ' && r != 0x7f && len(p.text) < promptLong {
			p.text = append(p.text, r)
		}
	}
}

func (m *Model) promptKey(key, text string) tea.Cmd {
	p := m.prompt
	switch key {
	case "esc":
		m.prompt = nil
	case "enter":
		m.prompt = nil
		return p.then(strings.TrimSpace(string(p.text)))
	case "backspace":
		if len(p.text) > 0 {
			p.text = p.text[:len(p.text)-1]
		}
	case "ctrl+u":
		p.text = nil
	default:
		p.add(text)
	}
	return nil
}
