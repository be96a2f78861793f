package claudesim

import "time"

// The faults.
const (
	faultError       = "error"        // an error of the service, by ID or freely
	faultHTML        = "html"         // an error page of a proxy
	faultRefuse      = "refuse"       // the connection is refused
	faultCut         = "cut"          // the connection is cut before, inside or after the work
	faultStall       = "stall"        // nothing is said for a while, or for ever
	faultSlow        = "slow"         // the answer takes longer
	faultBrokenJSON  = "broken-json"  // a whole reply under 200 that is not JSON
	faultErrorBody   = "error-body"   // an error's body under 200
	faultStreamError = "stream-error" // an error event inside a stream
	faultStreamCut   = "stream-cut"   // a stream that ends early
	faultStop        = "stop"         // a stop reason
	faultEmpty       = "empty"        // an answer without content
	faultOffSchema   = "off-schema"   // an answer that violates the schema
	faultProse       = "prose"        // prose where JSON was asked
	faultEnumCase    = "enum-case"    // values of enums in other capitals
	faultLong        = "long"         // an answer that needs many tokens
)

// Do says what happens to a call.
type Do struct {
	// Fault is what kind of fault it is; required.
	Fault string `yaml:"fault"`

	// ID names an error of the service (see ErrorNames), for error, error-body and stream-error.
	ID string `yaml:"id"`
	// Status, Type, Message and Code describe an error freely, or change that of ID. For html, Message is the page.
	Status  int    `yaml:"status"`
	Type    string `yaml:"type"`
	Message string `yaml:"message"`
	Code    string `yaml:"code"`
	// Headers are added to the reply, also to an answer.
	Headers map[string]string `yaml:"headers"`
	// RetryAfter is sent as retry-after in seconds, rounded up, and exactly as retry-after-ms. 0: as ID has it.
	RetryAfter time.Duration `yaml:"retry_after"`
	// Regain is when a spend limit says that access comes back, from the call on. 0: a fixed date.
	Regain time.Duration `yaml:"regain"`

	// At is where a cut comes: before (nothing was processed), inside (half the reply was sent), or after (all was
	// processed, nothing sent).
	At string `yaml:"at"`
	// For is how long a stall or the delay of slow takes. A stall of 0 lasts until the client leaves.
	For time.Duration `yaml:"for"`
	// Then is what follows a stall: cut (the default), or answer.
	Then string `yaml:"then"`
	// AfterEvents is how many pieces of the answer a stream sends before it fails.
	AfterEvents int `yaml:"after_events"`

	// Reason is the stop reason for stop; any, also ones that the service does not have.
	Reason string `yaml:"reason"`
	// Category is the refusal's. Default: general_harms.
	Category string `yaml:"category"`
	// Partial makes a refusal come after some text, which is then billed.
	Partial bool `yaml:"partial"`
	// Tokens is how many output tokens the answer of long needs. With a smaller max_tokens it is cut.
	Tokens int64 `yaml:"tokens"`

	// Billed says whether the call is billed. Default: as the service does; see the manual.
	Billed *bool `yaml:"billed"`
}

func (d Do) streamOnly() bool { return d.Fault == faultStreamError || d.Fault == faultStreamCut }

// billed is the setting, or the default of the place that asks.
func (d Do) billed(otherwise bool) bool {
	if d.Billed != nil {
		return *d.Billed
	}
	return otherwise
}

// uses lists the settings that each fault understands, so that a setting without effect is a mistake.
var uses = map[string]string{
	faultError:       "id status type message code headers retry_after regain billed",
	faultHTML:        "status message headers billed",
	faultRefuse:      "",
	faultCut:         "at billed",
	faultStall:       "for then billed headers",
	faultSlow:        "for headers billed",
	faultBrokenJSON:  "billed headers",
	faultErrorBody:   "id status type message code billed headers",
	faultStreamError: "id status type message code after_events billed headers",
	faultStreamCut:   "after_events billed headers",
	faultStop:        "reason category partial billed headers",
	faultEmpty:       "billed headers",
	faultOffSchema:   "billed headers",
	faultProse:       "billed headers",
	faultEnumCase:    "billed headers",
	faultLong:        "tokens billed headers",
}

// given lists the settings that have a value.
func (d Do) given() []string {
	var names []string
	for _, s := range []struct {
		name string
		set  bool
	}{
		{"id", d.ID != ""}, {"status", d.Status != 0}, {"type", d.Type != ""}, {"message", d.Message != ""}, {"code", d.Code != ""},
		{"headers", len(d.Headers) > 0}, {"retry_after", d.RetryAfter != 0}, {"regain", d.Regain != 0}, {"at", d.At != ""}, {"for", d.For != 0},
		{"then", d.Then != ""}, {"after_events", d.AfterEvents != 0}, {"reason", d.Reason != ""}, {"category", d.Category != ""},
		{"partial", d.Partial}, {"tokens", d.Tokens != 0}, {"billed", d.Billed != nil},
	} {
		if s.set {
			names = append(names, s.name)
		}
	}
	return names
}
