package triage

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// repairs is the choice of what mends a letter.
type repairs struct {
	options []option
	list    list
}

// option is one choice: repairs that are applied together; none: one is typed.
type option struct {
	repairs []string
	text    string
}

func (m *Model) openRepairs() {
	l := m.letter.letter
	var options []option
	if len(l.Suggested) > 0 {
		options = append(options, option{l.Suggested, strings.Join(l.Suggested, " + ") + "   (mends it)"})
	}
	for _, r := range l.Others {
		if !slices.Equal(l.Suggested, []string{r}) {
			options = append(options, option{[]string{r}, r})
		}
	}
	options = append(options, option{nil, "type one…"})
	m.repairs = repairs{options: options}
	m.screen = onRepairs
}

func (m *Model) repairsKey(key string) tea.Cmd {
	r := &m.repairs
	if by, ok := step(key, len(r.options), m.high()); ok {
		r.list.move(by, len(r.options), m.high())
		return nil
	}
	switch {
	case back(key):
		m.screen = onLetter
	case key == "t":
		m.typeRepair("")
	case forth(key):
		if chosen := r.options[r.list.at]; len(chosen.repairs) > 0 {
			return m.openPreview(chosen.repairs)
		}
		m.typeRepair("")
	case key == "e":
		m.typeRepair(strings.Join(r.options[r.list.at].repairs, " + "))
	}
	return nil
}

// typeRepair lets a person type repairs, several with " + " between them.
func (m *Model) typeRepair(text string) {
	m.ask("repair, several with \" + \" between", text, func(text string) tea.Cmd {
		var list []string
		for each := range strings.SplitSeq(text, " + ") {
			if each = strings.TrimSpace(each); each == "" {
				continue
			}
			if err := m.desk.CheckRepair(each); err != nil {
				m.sayError(err)
				return nil
			}
			list = append(list, each)
		}
		if len(list) == 0 {
			return nil
		}
		return m.openPreview(list)
	})
}
