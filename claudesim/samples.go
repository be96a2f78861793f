package claudesim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A sample is one way in which the service is known to refuse a call.
type sample struct {
	status  int
	kind    string // error.type; empty for a page that some proxy made
	message string // error.message, or the HTML page; {date} stands for when access comes back
	code    string // error.details.error_code, if any
	retry   string // retry-after, if any
}

const (
	invalid  = "invalid_request_error"
	rate     = "rate_limit_error"
	apiError = "api_error"
	denied   = "permission_error"
)

// samples are the errors that a profile can name.
var samples = map[string]sample{
	// The account.
	"credit":         {400, invalid, "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", "", ""},
	"org_limit":      {400, invalid, "You have reached your specified API usage limits. You will regain access on {date}.", "", ""},
	"ws_limit":       {400, invalid, "You have reached your specified workspace API usage limits. You will regain access on {date}.", "", ""},
	"tier_cap":       {429, rate, "You have reached your API usage limits: your organization has crossed its monthly API usage threshold, set based on your organization's API tier. You will regain access on {date}.", "enforced_spend_limit_reached", ""},
	"contract_cap":   {429, rate, "Your organization has reached the spend limit of its contract.", "contract_spend_limit_reached", ""},
	"org_disabled":   {400, invalid, "This organization has been disabled.", "", ""},
	"org_hold":       {400, invalid, "This organization is on hold.", "organization_on_hold", ""},
	"retention":      {400, invalid, "This model needs data retention to be configured for your organization.", "", ""},
	"cmek_disabled":  {400, invalid, "The encryption key of this workspace is disabled.", "cmek_key_disabled", ""},
	"cmek_network":   {400, invalid, "The encryption key of this workspace cannot be reached from here.", "cmek_key_network_blocked", ""},
	"auth":           {401, "authentication_error", "invalid x-api-key", "", ""},
	"auth_bearer":    {401, "authentication_error", "Invalid bearer token", "", ""},
	"billing":        {402, "billing_error", "There's an issue with your billing or payment information.", "", ""},
	"perm":           {403, denied, "Your API key does not have permission to use the specified resource.", "", ""},
	"linked_account": {403, denied, "The linked account may not use this resource.", "linked_account_suspended", ""},
	"user_profile":   {403, denied, "This user profile may not be used.", "user_profile_suspended", ""},
	// The configuration: every row of a recipe would meet it.
	"model404":   {404, "not_found_error", "model: claude-haiku-4-7", "", ""},
	"thinking":   {400, invalid, `"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, "", ""},
	"prefill":    {400, invalid, "This model does not support assistant message prefill. The conversation must end with a user message.", "", ""},
	"maxtok_cap": {400, invalid, "max_tokens: 128001 > 64000, which is the maximum allowed number of output tokens for claude-haiku-4-5-20251001", "", ""},
	"grammar":    {400, invalid, "The compiled grammar is too large, which would cause performance issues. Simplify your tool schemas or reduce the number of strict tools.", "", ""},
	// The message.
	"toolong":    {400, invalid, "prompt is too long: 208310 tokens > 200000 maximum", "", ""},
	"toolong2":   {400, invalid, "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again", "", ""},
	"413":        {413, "request_too_large", "Request exceeds the maximum size", "", ""},
	"413html":    {413, "", "<html><head><title>413 Request Entity Too Large</title></head></html>", "", ""},
	"empty":      {400, invalid, "messages: text content blocks must be non-empty", "", ""},
	"ws":         {400, invalid, "messages: text content blocks must contain non-whitespace text", "", ""},
	"surrogate":  {400, invalid, "The request body is not valid JSON: no low surrogate in string: line 1 column 195621 (char 195620)", "", ""},
	"img5":       {400, invalid, "messages.1.content.2.image.source.base64: image exceeds 5 MB maximum: 6275800 bytes > 5242880 bytes", "", ""},
	"imgdim":     {400, invalid, "messages.18.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels", "", ""},
	"imgtype":    {400, invalid, "messages.36.content.2.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", "", ""},
	"imgbad":     {400, invalid, "Could not process image", "", ""},
	"pdf100":     {400, invalid, "messages.4.content.0.pdf.source.base64.data: A maximum of 100 PDF pages may be provided.", "", ""},
	"pdfbad":     {400, invalid, "messages.0.content.0.pdf.source.base64.data: The PDF specified was not valid.", "", ""},
	"pdflock":    {400, invalid, "messages.0.content.0.pdf.source.base64.data: The PDF specified is password protected.", "", ""},
	"toolids":    {400, invalid, "`tool_use` ids were found without `tool_result` blocks immediately after: toolu_01PjgRJLbXrXEMZwDNYLnBqk. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", "", ""},
	"extra":      {400, invalid, "extra_body: Extra inputs are not permitted", "", ""},
	"generic400": {400, invalid, "messages.0.content: some future validation text", "", ""},
	"422":        {422, invalid, "The request could not be processed.", "", ""},
	"filter":     {400, invalid, "Output blocked by content filtering policy", "", ""},
	// The way there, and the service.
	"trunc400":     {400, invalid, "The request body is not valid JSON: unexpected end of data: line 1 column 1048577 (char 1048576)", "", ""},
	"body_timeout": {400, invalid, "The request body was not received in time.", "request_body_timeout", ""},
	"conflict":     {409, "conflict_error", "concurrent change", "", ""},
	"rl":           {429, rate, "This request would exceed your organization's rate limit of 50 requests per minute", "", "12"},
	"ramp":         {429, rate, "Your usage has grown faster than this model's limits allow.", "ramp_limit_exceeded", "5"},
	"cf429":        {429, rate, "Too many requests", "", ""},
	"500":          {500, apiError, "Internal server error", "", ""},
	"503":          {503, apiError, "cmek", "cmek_key_unreachable", ""},
	"504":          {504, "timeout_error", "The request timed out while processing.", "", ""},
	"529":          {529, "overloaded_error", "Overloaded", "", ""},
	"502html":      {502, "", "<html>502 Bad gateway</html>", "", ""},
	"503html":      {503, "", "<html>503 Service Temporarily Unavailable</html>", "", ""},
	"520html":      {520, "", "<html>520: Web server is returning an unknown error</html>", "", ""},
	"522html":      {522, "", "<html>522: Connection timed out</html>", "", ""},
	"524html":      {524, "", "<html>524: A timeout occurred</html>", "", ""},
}

// sampleDate fills {date} where the profile gives none.
var sampleDate = time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)

// ErrorNames lists the errors that a profile can name with fault: error, sorted.
func ErrorNames() []string { return slices.Sorted(maps.Keys(samples)) }

// reply makes the answer of a sample, with access coming back at the given time.
func (s sample) reply(regain time.Time) *reply {
	if regain.IsZero() {
		regain = sampleDate
	}
	text := strings.ReplaceAll(s.message, "{date}", regain.UTC().Format("2006-01-02 at 15:04 UTC"))
	r := failure(s.status, s.kind, text)
	if s.kind == "" {
		r = htmlPage(s.status, text)
	}
	r.code = s.code
	if s.retry != "" {
		r.header.Set("retry-after", s.retry)
	}
	return r
}
