package main

import "github.com/siding-dev/siding"

// explanation says in words what a stored code means.
type explanation struct{ kind, code, meaning, advice string }

const (
	kindCause   = "cause"
	kindReason  = "reason"
	kindOutcome = "outcome"
	kindState   = "state"
	kindHold    = "hold"
)

func cause(c siding.Cause, meaning, advice string) explanation {
	return explanation{kindCause, string(c), meaning, advice}
}

func reason(r siding.Reason, meaning, advice string) explanation {
	return explanation{kindReason, string(r), meaning, advice}
}

// fixAndRun is the advice for what is wrong with a record.
const fixAndRun = "Mend the record in the input and run the same command again: only that record is asked."

// explanations has every code; a test holds it against the lists of the root package.
var explanations = []explanation{
	cause(siding.CauseInvalidJSON, "The record is not valid JSON.", fixAndRun),
	cause(siding.CauseInvalidUTF8, "The record has bytes that are not UTF-8: raw binary, or another encoding.", fixAndRun+
		" fault_offset is the first such byte."),
	cause(siding.CauseInvalidID, "The record's id is missing, null, too long or has control characters.", fixAndRun+
		" Or point input.id of the recipe elsewhere."),
	cause(siding.CauseDuplicateID, "Another record of this input has the same id and other contents; the first one keeps the id.",
		"Give the record an id of its own."),
	cause(siding.CauseBodyTooLarge, "The record is longer than max_body allows; only its beginning is kept.",
		"Shorten or split the record."),
	cause(siding.CauseExpired, "The message was not done by the time that its producer set.", "Send it again with a later time, if it is still wanted."),
	cause(siding.CauseInvalidText, "A text in the record holds half of a surrogate pair; it can be written in JSON, and means nothing.", fixAndRun),
	cause(siding.CauseSchemaViolation, "The record does not fit the recipe's input schema.", fixAndRun+" Or widen the schema."),
	cause(siding.CauseTemplate, "The prompt's template could not be filled in: a field is missing or null.",
		fixAndRun+" Or use {{opt .field}} in the template for a field that may be missing."),
	cause(siding.CauseEmptyInput, "The request would have no text to work on.", fixAndRun),
	cause(siding.CauseInputTooLarge, "The request is larger than the model or the service takes.",
		"Shorten the record, use a model with a larger window, or have it summed up first (preflight.oversize); then send it back."),
	cause(siding.CauseInvalidMedia, "An image or document cannot be used: its type, size, or contents.", "Mend or replace the file, and send the message back."),
	cause(siding.CauseInvalidRequest, "The service says that the request is wrong.", "Read the error text; mend the record or the recipe, and send the message back."),
	cause(siding.CauseTruncated, "The answer was cut at max_tokens.", "Raise max_tokens in the recipe, or ask for a shorter answer; then send the message back."),
	cause(siding.CauseRefused, "The model declined to answer this record.", "Try another model or prompt, or give the record up."),
	cause(siding.CauseEmptyAnswer, "The answer had nothing in it.", "Send the message back; if it stays, look at the prompt."),
	cause(siding.CauseSchemaMismatch, "The answer does not fit the output schema, or is prose where JSON was asked.",
		"Look at the answer with \"siding show\"; correct the schema or the prompt. A corrected schema judges the answers again, without calls."),
	cause(siding.CauseContentFiltered, "The service blocked the answer by its content policy; it may have been billed.", "Try another prompt, or give the record up."),
	cause(siding.CauseUnknownStopReason, "The answer ended for a reason that this version does not know.", "Look at the answer; a newer version may know it."),
	cause(siding.CauseRateLimited, "The service asks for fewer calls.", "Nothing: the calls wait. A lower concurrency or a higher limit helps."),
	cause(siding.CauseOverloaded, "The service is overloaded.", "Nothing: the calls wait."),
	cause(siding.CauseServerError, "The service failed on its side.", "Send the message back later; if only this one fails so, look at its contents."),
	cause(siding.CauseTimeout, "No whole answer came in time; the call may have been billed.", "Send the message back; a shorter answer or a longer time limit helps."),
	cause(siding.CauseNetwork, "The service could not be reached, or the connection broke.", "Check the network and ANTHROPIC_BASE_URL; then send the message back."),
	cause(siding.CauseBadResponse, "Something came that is no answer, under a status that says it is; often a proxy.", "Look at what stands between this machine and the service."),
	cause(siding.CauseAccount, "The account may not go on: credit, spend limit, or a disabled organisation.", "Mend the account, and run the same command again. Nothing was set aside for it."),
	cause(siding.CauseCredentials, "The service does not accept the key, or the key may not do this.", "Set a valid ANTHROPIC_API_KEY, and run the same command again. Nothing was set aside for it."),
	cause(siding.CauseModelNotFound, "The service does not know the model, or the account may not use it.", "Correct the model in the recipe."),
	cause(siding.CauseConfiguration, "The recipe asks for what the service does not take, for any record.", "Correct the recipe as the error text says."),
	cause(siding.CauseHandlerError, "The handler returned an error that says no more about its kind.", "Read the error text."),
	cause(siding.CauseHandlerPanic, "The handler panicked; the stack is in the error text.", "Mend the handler, and send the message back."),
	cause(siding.CauseWorkerCrash, "The worker's process died while the message was in flight.", "If one message does it again and again, look at what it makes the handler do."),
	cause(siding.CauseLeaseLost, "The worker lost its claim on the message: it took too long, or stood still.", "Look at the machine's load."),
	cause(siding.CauseShutdown, "The worker was stopped while the message was in flight; it costs the message nothing.", ""),
	cause(siding.CauseHostRestart, "The machine was restarted while the message was in flight; it costs the message nothing.", ""),
	cause(siding.CauseUnknown, "What went wrong is not known.", "Read the error text."),
	cause(siding.CauseInvalidCSV, "The row does not fit its file: a stray quote, or more or fewer fields than the header has.", fixAndRun),

	cause(siding.CauseBudget, "The next call could exceed the recipe's budget, and was not made.",
		"Raise budget.usd in the recipe, and run the same command again. Nothing was set aside for it."),

	reason(siding.ReasonPoison, "A permanent failure: this message will never pass as it is.", "See its cause."),
	reason(siding.ReasonAttemptsExhausted, "It failed as often as the recipe allows.", "See its cause; send it back when that is mended."),
	reason(siding.ReasonGrayExhausted, "It failed more often than gray_retries allows in a way that may be chance.", "See its cause."),
	reason(siding.ReasonWaitsExhausted, "It was held again and again while others of its lane were served.", "It may be larger than the rate limit allows."),
	reason(siding.ReasonInterruptionsExhausted, "Its worker lost its claim on it again and again.", "Look at how long it takes and at the machine's load."),
	reason(siding.ReasonCrash, "It was found to kill the process that works on it.", "Look at what it makes the handler do, before it is sent back."),
	reason(siding.ReasonUnknownCall, "A call for it may have been billed without an answer, and the recipe says not to ask again.",
		"Look at the service's bill; send it back if it may be paid again."),
	reason(siding.ReasonExpired, "The time that its producer set had passed.", "Send it again if it is still wanted."),
	reason(siding.ReasonManual, "Somebody set it aside by hand.", "See the note in its history."),

	{kindOutcome, string(siding.OutcomeDone), "What was asked for has come.", ""},
	{kindOutcome, string(siding.OutcomeTransient), "A failure that may pass by itself; costs an attempt.", ""},
	{kindOutcome, string(siding.OutcomeGray), "Perhaps the message's fault, perhaps chance; a small limit of its own.", ""},
	{kindOutcome, string(siding.OutcomePermanent), "This message will never pass as it is.", ""},
	{kindOutcome, string(siding.OutcomeHeld), "The fault is the account's, the lane's or the recipe's; costs no attempt.", "Mend it, and run the same command again."},
	{kindOutcome, string(siding.OutcomeInterrupted), "The delivery did not end by itself; costs no attempt.", ""},
	{kindOutcome, string(siding.OutcomeForwarded), "The message waits for the result of another queue, to which a copy of it was sent; costs no attempt.",
		"See to it that the other queue is worked: \"siding status\" names it."},

	{kindHold, string(siding.HoldFault), "A known fault of the account, the model or the recipe is in the way of everything.", "Mend it, and run the same command again: each start tries one message."},
	{kindHold, string(siding.HoldOutage), "The service answers nobody. One message at a time finds out whether it does again.", "Nothing: the work waits. It goes on by itself."},
	{kindHold, string(siding.HoldSystemic), "Message after message fails alike, so that the recipe, and not the messages, seems to be at fault. None of them is set aside.",
		"Look at the error text and at one of them with \"siding show\"; mend the recipe. If it is the messages' own fault after all: \"siding holds resume --as-poison\"."},
	{kindHold, string(siding.HoldBudget), "The next call could exceed the recipe's budget.", "Raise budget.usd in the recipe, and run the same command again."},
	{kindHold, string(siding.HoldManual), "Somebody holds it by hand.", "\"siding holds resume\" ends it."},

	{kindState, string(siding.StateReady), "Waits to be worked, perhaps not before a later time.", ""},
	{kindState, string(siding.StateLeased), "A worker has it.", ""},
	{kindState, string(siding.StateDone), "Settled with success; its result is stored.", ""},
	{kindState, string(siding.StateDead), "Set aside in the quarantine, with its history.", "\"siding dlq list\" shows it, \"siding redrive\" sends it back."},
	{kindState, string(siding.StateDiscarded), "Given up by hand; stays so.", ""},
}
