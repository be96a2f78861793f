package webhook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var variable = regexp.MustCompile(`\$?\$\{[^}]*\}?`)

var variableName = regexp.MustCompile(`^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$`)

// hiddenFrom is the length, in bytes, from which a value of the environment is taken out of whatever the service says:
// a shorter one is no secret, and would be found everywhere.
const hiddenFrom = 6

// secrets are the values that came from the environment, by what is shown in their place.
type secrets struct {
	lookup func(string) (string, bool)
	values [][2][]byte // value, what stands for it; the longest first
}

// expand puts the environment's values in the place of ${NAME}.
func (s *secrets) expand(text string) (string, error) {
	var fault error
	out := variable.ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "$$") {
			return found[1:]
		}
		m := variableName.FindStringSubmatch(found)
		if m == nil {
			fault = fmt.Errorf("%q is no variable; write ${NAME}, or $${ for ${ itself", cut(found, 64))
			return ""
		}
		value, ok := s.lookup(m[1])
		switch {
		case !ok:
			fault = fmt.Errorf("the environment has no variable %s; set it", m[1])
		case value == "":
			fault = fmt.Errorf("the environment's variable %s is empty; set it", m[1])
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
			fault = fmt.Errorf("the environment's variable %s has a line break or another control character in it", m[1])
		}
		s.note(m[1], value)
		return value
	})
	return out, fault
}

// note remembers a value, as it is and as JSON writes it.
func (s *secrets) note(name, value string) {
	if len(value) < hiddenFrom {
		return
	}
	shown := []byte("[" + name + "]")
	s.values = append(s.values, [2][]byte{[]byte(value), shown})
	if quoted, err := json.Marshal(value); err == nil && string(quoted[1:len(quoted)-1]) != value {
		s.values = append(s.values, [2][]byte{quoted[1 : len(quoted)-1], shown})
	}
	slices.SortStableFunc(s.values, func(a, b [2][]byte) int { return cmp.Compare(len(b[0]), len(a[0])) })
}

// hide takes the values out of what a service says, should it repeat them.
func (s *secrets) hide(text []byte) []byte {
	for _, v := range s.values {
		text = bytes.ReplaceAll(text, v[0], v[1])
	}
	return text
}

func (s *secrets) hideText(text string) string { return string(s.hide([]byte(text))) }
