package triage_test

import (
	"reflect"
	"regexp"

	tea "charm.land/bubbletea/v2"
)

// ansiStyles are the styles that the page itself makes.
var ansiStyles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// sequence gives the commands of tea.Sequence, whose message has no name outside of its package.
func sequence(msg tea.Msg) ([]tea.Cmd, bool) {
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Slice || v.Type().Elem() != reflect.TypeFor[tea.Cmd]() {
		return nil, false
	}
	cmds := make([]tea.Cmd, v.Len())
	for i := range cmds {
		cmds[i], _ = reflect.TypeAssert[tea.Cmd](v.Index(i))
	}
	return cmds, true
}
