package siding

// Cause is a short stable code for what went wrong. The values are stored, so the list is append-only.
type Cause string

// The causes.
const (
	CauseInvalidJSON       Cause = "invalid-json"
	CauseInvalidUTF8       Cause = "invalid-utf8"
	CauseInvalidID         Cause = "invalid-id"
	CauseDuplicateID       Cause = "duplicate-id"
	CauseBodyTooLarge      Cause = "body-too-large"
	CauseExpired           Cause = "expired"
	CauseInvalidText       Cause = "invalid-text"     // a lone surrogate
	CauseSchemaViolation   Cause = "schema-violation" // the record does not fit the input schema
	CauseTemplate          Cause = "template"
	CauseEmptyInput        Cause = "empty-input"
	CauseInputTooLarge     Cause = "input-too-large"
	CauseInvalidMedia      Cause = "invalid-media"
	CauseInvalidRequest    Cause = "invalid-request"
	CauseTruncated         Cause = "truncated"
	CauseRefused           Cause = "refused"
	CauseEmptyAnswer       Cause = "empty-answer"
	CauseSchemaMismatch    Cause = "schema-mismatch" // the answer does not fit the output schema
	CauseContentFiltered   Cause = "content-filtered"
	CauseUnknownStopReason Cause = "unknown-stop-reason"
	CauseRateLimited       Cause = "rate-limited"
	CauseOverloaded        Cause = "overloaded"
	CauseServerError       Cause = "server-error"
	CauseTimeout           Cause = "timeout"
	CauseNetwork           Cause = "network"
	CauseBadResponse       Cause = "bad-response" // something that is not an answer, under a status that says it is
	CauseAccount           Cause = "account"
	CauseCredentials       Cause = "credentials"
	CauseModelNotFound     Cause = "model-not-found"
	CauseConfiguration     Cause = "configuration"
	CauseHandlerError      Cause = "handler-error"
	CauseHandlerPanic      Cause = "handler-panic"
	CauseWorkerCrash       Cause = "worker-crash"
	CauseLeaseLost         Cause = "lease-lost"
	CauseShutdown          Cause = "shutdown"
	CauseHostRestart       Cause = "host-restart"
	CauseUnknown           Cause = "unknown"
	CauseInvalidCSV        Cause = "invalid-csv" // a row that cannot be taken apart
	CauseBudget            Cause = "budget"      // the next call could exceed the recipe's budget
)

// Causes lists every cause, in the order in which they were added.
func Causes() []Cause {
	return []Cause{
		CauseInvalidJSON, CauseInvalidUTF8, CauseInvalidID, CauseDuplicateID, CauseBodyTooLarge, CauseExpired,
		CauseInvalidText, CauseSchemaViolation, CauseTemplate, CauseEmptyInput, CauseInputTooLarge, CauseInvalidMedia,
		CauseInvalidRequest, CauseTruncated, CauseRefused, CauseEmptyAnswer, CauseSchemaMismatch, CauseContentFiltered,
		CauseUnknownStopReason, CauseRateLimited, CauseOverloaded, CauseServerError, CauseTimeout, CauseNetwork,
		CauseBadResponse, CauseAccount, CauseCredentials, CauseModelNotFound, CauseConfiguration, CauseHandlerError,
		CauseHandlerPanic, CauseWorkerCrash, CauseLeaseLost, CauseShutdown, CauseHostRestart, CauseUnknown,
		CauseInvalidCSV, CauseBudget,
	}
}
