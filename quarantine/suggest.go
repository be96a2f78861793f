package quarantine

import "github.com/siding-dev/siding"

// Suggest gives the repairs that mend a dead letter, by what was found in it, in the order in which they are to be
// applied: each as --repair takes it. None, where one of its faults cannot be mended, or where it has none.
func Suggest(findings []Finding) []string { return nil }

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

const (
	nameTruncate = "truncate"
	nameDrop     = "drop"
	nameSet      = "set"
	nameRename   = "rename"
	nameJQ       = "jq"
	nameRequest  = "request"
	nameCommand  = "command"
)
