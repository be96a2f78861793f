package quarantine

import (
	"slices"
	"strings"

	"github.com/siding-dev/siding"
)

// The names of the repairs that take arguments.
const (
	nameTruncate = "truncate"
	nameDrop     = "drop"
	nameSet      = "set"
	nameRename   = "rename"
	nameJQ       = "jq"
	nameRequest  = "request"
	nameCommand  = "command"
)

// inOrder are the repairs in the order in which they are applied: first what makes bytes a text, then what makes the text
// JSON, then what changes its fields. Others come after them, as they were found.
var inOrder = []string{
	nameStripUTF8, nameReplaceUTF8, nameStripControl, nameFixJSON, nameFixSurrogates, nameRename, nameSet, nameDrop, nameTruncate, nameJQ,
}

// Suggest gives the repairs that mend a dead letter, by what was found in it, in the order in which they are to be
// applied: each as --repair takes it. None, where one of its faults cannot be mended, or where it has none.
func Suggest(findings []Finding) []string {
	var list []string
	for _, f := range findings {
		switch {
		case !f.Fault:
			continue
		case len(f.Repairs) == 0:
			return nil
		case f.Code == "check-panicked":
			continue
		}
		if !slices.Contains(list, f.Repairs[0]) {
			list = append(list, f.Repairs[0])
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return rank(a) - rank(b) })
	return list
}

func rank(repair string) int {
	name, _, _ := strings.Cut(repair, ":")
	if i := slices.Index(inOrder, name); i >= 0 {
		return i
	}
	return len(inOrder)
}

// SuggestFor names the repairs that may help against a cause, without a look at the message: the most careful first.
func SuggestFor(c siding.Cause) []string {
	switch c {
	case siding.CauseInvalidUTF8:
		return []string{nameStripUTF8, nameReplaceUTF8}
	case siding.CauseInvalidText:
		return []string{nameFixSurrogates}
	case siding.CauseInvalidJSON:
		return []string{nameFixJSON}
	case siding.CauseInputTooLarge:
		return []string{nameTruncate, nameDrop}
	case siding.CauseTruncated, siding.CauseRefused, siding.CauseSchemaMismatch:
		return []string{nameRequest}
	case siding.CauseTemplate, siding.CauseSchemaViolation, siding.CauseEmptyInput:
		return []string{nameSet}
	}
	return nil
}
