package claude

import (
	"strings"

	"github.com/siding-dev/siding"
)

// A pattern recognises a refused request by its message, where type and code say too little. All of its words must
// occur, in lower case. The service's wording changes: what no pattern knows is an invalid request of this record, and
// the systemic guard notices when every record gets it.
type pattern struct {
	words []string
	as    verdict
}

func when(as verdict, words ...string) pattern { return pattern{words: words, as: as} }

// patterns, in the order in which they are tried.
var patterns = []pattern{
	// The account: nothing is wrong with the request.
	when(accountFault, "credit balance"),
	when(accountFault, "regain access on"),
	when(accountFault, "usage limits"),
	when(accountFault, "organization", "disabled"),
	when(accountFault, "organization", "on hold"),
	when(accountFault, "organization", "suspended"),
	when(accountFault, "data retention"),
	when(accountFault, "plans & billing"),

	// The answer was begun, and thrown away.
	when(filtered, "content filter"),

	// The bytes: a fault of the text, or of the way.
	when(invalidText, "surrogate"),
	when(cutInTransit, "not valid json", "unexpected end"),
	when(cutInTransit, "not valid json", "eof"),

	// The size.
	when(tooLarge, "prompt is too long"),
	when(tooLarge, "context limit"),
	when(tooLarge, "context window"),
	when(tooLarge, "exceeds the maximum size"),
	when(tooLarge, "request too large"),
	when(tooLarge, "too many tokens"),

	// What every record of the recipe would get.
	when(misconfigured, "prefill"),
	when(misconfigured, "grammar"),
	when(misconfigured, "schema", "too complex"),
	when(misconfigured, "maximum allowed number of output tokens"),
	when(misconfigured, "not supported for this model"),
	when(misconfigured, "not supported by this model"),
	when(misconfigured, "model does not support"),
	when(misconfigured, "not supported by api version"),
	when(misconfigured, "anthropic-version"),
	when(misconfigured, "streaming is"),

	// The record's images and documents.
	when(invalidMedia, ".image."),
	when(invalidMedia, ".pdf."),
	when(invalidMedia, ".document."),
	when(invalidMedia, "could not process image"),
	when(invalidMedia, "could not process pdf"),
	when(invalidMedia, "image", "exceed"),
	when(invalidMedia, "image", "media type"),
	when(invalidMedia, "image", "dimension"),
	when(invalidMedia, "pdf", "password"),
	when(invalidMedia, "pdf", "not valid"),
	when(invalidMedia, "pdf", "pages"),

	// Nothing to answer.
	when(emptyInput, "text content blocks must"),
	when(emptyInput, "non-empty content"),
	when(emptyInput, "non-whitespace"),
	when(emptyInput, "at least one message"),
}

// recipeFields are the top-level fields that come from the recipe alone. A message that begins with one of them, as the
// service writes the place of a fault, is about the recipe, whatever it says.
var recipeFields = []string{
	"model", "max_tokens", "system", "stop_sequences", "output_config", "output_format", "tools", "tool_choice", "thinking",
	"temperature", "top_p", "top_k", "betas", "service_tier", "metadata", "inference_geo",
}

// byText says what a refused request with this message means.
func byText(message string) verdict {
	low := strings.ToLower(message)
	place := strings.TrimLeft(low, "\"'`")
	if end := strings.IndexFunc(place, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }); end > 0 {
		rest := place[end:]
		for _, field := range recipeFields {
			// A place is followed by a colon or goes on with a dot: "tools.0.input_schema: …". Account faults never are.
			if place[:end] == field && (rest[0] == ':' || rest[0] == '.' && strings.Contains(rest, ":")) {
				return misconfigured
			}
		}
	}
	for _, p := range patterns {
		if containsAll(low, p.words) {
			return p.as
		}
	}
	return invalidRequest
}

func containsAll(s string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(s, w) {
			return false
		}
	}
	return true
}

// A verdict is what a failure comes to, before its times are known.
type verdict struct {
	outcome siding.Outcome
	cause   siding.Cause
	scope   siding.Scope
	monthly bool // a spend limit: without a date it ends with the month
}

var (
	accountFault   = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseAccount, scope: siding.ScopeAccount}
	spendLimit     = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseAccount, scope: siding.ScopeAccount, monthly: true}
	credentials    = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseCredentials, scope: siding.ScopeAccount}
	noModel        = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseModelNotFound, scope: siding.ScopeLane}
	misconfigured  = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseConfiguration, scope: siding.ScopeRecipe}
	rateLimited    = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseRateLimited, scope: siding.ScopeLane}
	overloaded     = verdict{outcome: siding.OutcomeHeld, cause: siding.CauseOverloaded, scope: siding.ScopeLane}
	tooLarge       = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseInputTooLarge}
	emptyInput     = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseEmptyInput}
	invalidText    = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseInvalidText}
	invalidMedia   = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseInvalidMedia}
	invalidRequest = verdict{outcome: siding.OutcomePermanent, cause: siding.CauseInvalidRequest}
	filtered       = verdict{outcome: siding.OutcomeGray, cause: siding.CauseContentFiltered}
	cutInTransit   = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseNetwork}
	serverError    = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseServerError}
	timedOut       = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseTimeout}
	badResponse    = verdict{outcome: siding.OutcomeTransient, cause: siding.CauseBadResponse}
)

// byCode are the service's own error codes: what they say does not depend on any wording.
var byCode = map[string]verdict{
	"organization_on_hold":                    accountFault,
	"cmek_key_disabled":                       accountFault,
	"cmek_key_network_blocked":                accountFault,
	"cmek_not_approved":                       accountFault,
	"workspace_policy_violation":              accountFault,
	"unsupported_region":                      accountFault,
	"region_not_supported":                    accountFault,
	"api_key_scope_missing":                   credentials,
	"enforced_spend_limit_reached":            spendLimit,
	"contract_spend_limit_reached":            spendLimit,
	"linked_organization_spend_limit_reached": spendLimit,
	"ramp_limit_exceeded":                     rateLimited,
	"compaction_unavailable":                  overloaded,
	"request_body_timeout":                    cutInTransit,
	"request_body_too_large_after_decoding":   tooLarge,
	"image_dimensions_too_large":              invalidMedia,
	"available_tools_limit_exceeded":          misconfigured,
	"tool_name_conflict":                      misconfigured,
	"tool_reference_unresolved":               misconfigured,
	"request_body_encoding_invalid":           misconfigured,
	"request_body_encoding_unsupported":       misconfigured,
	"claude_code_version_too_old":             misconfigured,
	"thread_unsupported_request":              misconfigured,
	"thread_not_found":                        misconfigured,
}

// codeVerdict looks a code up; whole families concern the account.
func codeVerdict(code string) (verdict, bool) {
	if v, ok := byCode[code]; ok {
		return v, true
	}
	if strings.HasPrefix(code, "linked_") || strings.HasPrefix(code, "user_profile_") {
		return accountFault, true
	}
	return verdict{}, false
}

// byType are the error types that say enough; invalid_request_error says too little and is not among them.
var byType = map[string]verdict{
	"authentication_error": credentials,
	"permission_error":     credentials,
	"billing_error":        accountFault,
	"not_found_error":      noModel,
	"request_too_large":    tooLarge,
	"rate_limit_error":     rateLimited,
	"overloaded_error":     overloaded,
	"timeout_error":        timedOut,
	"api_error":            serverError,
	"conflict_error":       serverError,
}
