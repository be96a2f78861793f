package claude

import "strings"

// Limits is what a model takes and gives, in tokens. 0 means: as the built-in table has it.
type Limits struct {
	ContextTokens int64 // the context window: input and answer together
	OutputTokens  int64 // the largest max_tokens
}

// modelLimits is the state of November 2026, by the model list of the SDK and the service's Models endpoint. A model that
// is not here gets unknownModel; Config.Limits replaces both.
var modelLimits = map[string]Limits{
	"haiku-4-5":  {200_000, 64_000},
	"sonnet-4-5": {200_000, 64_000},
	"opus-4-5":   {200_000, 64_000},
	"haiku-5-5":  {400_000, 64_000},
	"opus-4-6":   {1_000_000, 128_000},
	"sonnet-4-6": {1_000_000, 128_000},
	"opus-4-7":   {1_000_000, 128_000},
	"opus-4-8":   {1_000_000, 128_000},
	"opus-5":     {1_000_000, 128_000},
	"opus-5-5":   {1_000_000, 128_000},
	"sonnet-5":   {1_000_000, 128_000},
	"sonnet-5-5": {1_000_000, 128_000},
	"fable-5":    {1_000_000, 128_000},
	"fable-5-1":  {1_000_000, 128_000},
	"fable-5-2":  {1_000_000, 128_000},
	"mythos-5":   {1_000_000, 128_000},
	"mythos-5-1": {1_000_000, 128_000},
	"mythos-5-2": {1_000_000, 128_000},
}

// unknownModel is for a model that is not in the table: the least that any of them gives. Its context window is not
// known, so no record is set aside for it; only the service can tell.
var unknownModel = Limits{ContextTokens: 0, OutputTokens: 64_000}

// limitsOf gives what is known of a model. ContextTokens 0: not known.
func limitsOf(model string, own Limits) Limits {
	l, ok := modelLimits[bareModel(model)]
	if !ok {
		l = unknownModel
	}
	if own.ContextTokens > 0 {
		l.ContextTokens = own.ContextTokens
	}
	if own.OutputTokens > 0 {
		l.OutputTokens = own.OutputTokens
	}
	return l
}

// bareModel gives a model's name without the maker and the date: claude-haiku-4-5-20251001 is haiku-4-5.
func bareModel(name string) string {
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "claude-")
	if at := strings.LastIndexByte(name, '-'); at > 0 && len(name)-at-1 == 8 && digits(name[at+1:]) {
		name = name[:at]
	}
	return strings.TrimSuffix(name, "-latest")
}

func digits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
