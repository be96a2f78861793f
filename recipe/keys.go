package recipe

import (
	"slices"
	"strings"
)

// Kind is what a key's value must be.
type Kind string

// The kinds of values.
const (
	KindMap      Kind = "group"        // a group of further keys
	KindText     Kind = "text"         //
	KindInteger  Kind = "whole number" //
	KindNumber   Kind = "number"       //
	KindBool     Kind = "true or false"
	KindDuration Kind = "duration" // a number with a unit: 250ms, 1s, 2m
	KindMoney    Kind = "dollars"  // a decimal number of up to twelve places
	KindPointer  Kind = "JSON Pointer"
	KindFile     Kind = "file name" // relative to the recipe's folder
	KindList     Kind = "list of texts"
	KindNumbers  Kind = "list of whole numbers"
	KindTexts    Kind = "group of texts" // whose keys are free
	KindEither   Kind = "text or group"  // a word, or a group of further keys
)

// Key is one key that a recipe may have. The reference page is made from these.
type Key struct {
	Path    string // the key and the groups around it, joined by dots
	Kind    Kind
	Default string // in words, where it is no value; empty for a group
	Bounds  string // what is allowed, beyond the kind; may be empty
	Meaning string
	// Refused, where it is not empty, says why this version does not take the key.
	Refused string
}

const notYet = "not supported in this version"

// Keys lists every key, a group before what is in it.
func Keys() []Key {
	return slices.Clone(keys)
}

var keys = []Key{
	{"version", KindInteger, "must be given", "1", "The version of this format.", ""},
	{"queue", KindText, "must be given", "1–128 letters, digits, `-`, `_`, `.`", "The queue in the store that the messages go to. Two recipes with one queue share its messages.", ""},

	{"input", KindMap, "", "", "What the records are.", ""},
	{"input.id", KindPointer, "a hash of the record's bytes and its number among equals", "RFC 6901; `/name` in CSV", "Where a record has its event ID. See [inputs](inputs.md).", ""},
	{"input.schema", KindFile, "any record", "a JSON Schema of at most 1 MiB, without references to other files", "What a valid record is. One that does not fit is set aside as `schema-violation`, without a call.", ""},

	{"claude", KindMap, "", "", "Asks Claude about each record. A recipe has exactly one of the groups claude, webhook and command.", ""},
	{"claude.model", KindText, "must be given", "", "The model, as the service names it.", ""},
	{"claude.max_tokens", KindInteger, "must be given", "at least 1", "The longest answer, in tokens. An answer that is cut there is asked for again with twice as much, up to the model's maximum.", ""},
	{"claude.system", KindText, "none", "", "The system prompt.", ""},
	{"claude.prompt", KindText, "must be given", "a Go text/template", "The prompt, made from each record: `{{.title}}`. A field that is missing or null is an error; `{{opt .x}}` prints nothing instead, `{{json .x}}` prints any value as JSON.", ""},
	{"claude.images", KindMap, "", "", "Images that go before the prompt.", ""},
	{"claude.images.fields", KindList, "none", "JSON Pointers", "Where a record has the names of its image files: a text, or a list of texts.", ""},
	{"claude.images.root", KindFile, "must be given with fields", "a folder", "The folder of the image files. Nothing outside it is opened.", ""},
	{"claude.output", KindMap, "", "", "What the answer must be.", ""},
	{"claude.output.schema", KindFile, "the answer is plain text", "a JSON Schema of at most 1 MiB, without references to other files", "What a good answer is. One that does not fit is set aside as `schema-mismatch`.", ""},
	{"claude.output.via", KindText, "`schema`", "`schema` or `tool`", "How the service is told the schema: as structured output, or as a tool that must be called.", ""},
	{"claude.stop_sequences", KindList, "none", "", "Texts that end the answer.", ""},
	{"claude.timeout", KindDuration, "`10m`", "`1s` to `1h`", "How long one call may take.", ""},
	{"claude.mode", KindText, "`message`", "`message`", "One call for each record.", ""},

	{"webhook", KindMap, "", "", "Sends each record to an address. See [handlers](handlers.md).", ""},
	{"webhook.url", KindText, "must be given", "http or https", "The address, without user name and password. Behind the host `${NAME}` stands for a variable of the environment.", ""},
	{"webhook.method", KindText, "`POST`", "`POST`, `PUT`, `PATCH` or `DELETE`", "How it is sent.", ""},
	{"webhook.headers", KindTexts, "none", "", "Headers that go with each request, for instance `{Authorization: \"Bearer ${TOKEN}\"}`; `${NAME}` stands for a variable of the environment.", ""},
	{"webhook.idempotency_header", KindText, "`Idempotency-Key`", "", "The header that carries the event ID.", ""},
	{"webhook.timeout", KindDuration, "`30s`", "`1s` to `1h`", "How long one request and its reply may take.", ""},
	{"webhook.done", KindNumbers, "none", "200 to 599", "Statuses that mean that the event was received, beyond 2xx.", ""},
	{"webhook.transient", KindNumbers, "none", "200 to 599", "Statuses that may pass by themselves.", ""},
	{"webhook.permanent", KindNumbers, "none", "200 to 599", "Statuses that set the record aside.", ""},
	{"webhook.gray", KindNumbers, "none", "200 to 599", "Statuses that are perhaps chance, perhaps the record's fault.", ""},
	{"webhook.follow_redirects", KindBool, "`false`", "", "Follows 307 and 308 to the same host.", ""},
	{"webhook.allow_private", KindBool, "`false`", "", "Connects to addresses of this machine and of private networks too, and through the environment's proxy.", ""},
	{"webhook.max_response", KindInteger, "`1048576`", "1 to 67,108,864", "How many bytes of a reply are kept.", ""},

	{"command", KindMap, "", "", "Runs a program for each record, in the recipe's folder. See [handlers](handlers.md).", ""},
	{"command.argv", KindList, "must be given", "", "The program and its arguments. No shell reads them.", ""},
	{"command.env", KindList, "none", "", "What the program gets of the environment beyond a few variables: `NAME` hands one on, `NAME=value` sets one.", ""},
	{"command.timeout", KindDuration, "`5m`", "`1s` to `24h`", "How long one run may take.", ""},
	{"command.grace", KindDuration, "`5s`", "up to `1m`", "How long the program has to end after SIGTERM, until SIGKILL.", ""},
	{"command.permanent", KindNumbers, "none", "1 to 255", "Further exit statuses that set the record aside.", ""},
	{"command.gray", KindNumbers, "none", "1 to 255", "Further exit statuses that are perhaps chance, perhaps the record's fault.", ""},
	{"command.max_output", KindInteger, "`1048576`", "1 to 67,108,864", "The longest result, in bytes.", ""},
	{"command.output", KindMap, "", "", "What a result must be.", ""},
	{"command.output.schema", KindFile, "anything is a result", "a JSON Schema of at most 1 MiB, without references to other files", "What a good result is. One that does not fit is set aside as `schema-mismatch`.", ""},

	{"preflight", KindMap, "", "", "What is checked before a call is made; for claude only.", ""},
	{"preflight.max_input_tokens", KindInteger, "what the model takes", "at least 1", "How many tokens a prompt may have. A record whose prompt has more is too large: it is not sent, and fails as `input-too-large`.", ""},
	{"preflight.tokens", KindText, "`estimate`", "`estimate` or `service`", "Who counts them. The estimate costs no time and errs on the high side; the service is asked, at no cost, where the estimate cannot be sure.", ""},
	{"preflight.oversize", KindEither, "`dead`", "`dead`, or a group", "What happens to records that are too large: they are set aside, or sent to another queue, whose result comes back into them. See [too-large inputs](quarantine.md#too-large-inputs).", ""},
	{"preflight.oversize.queue", KindText, "must be given", "as queue, and another one", "The queue that a copy of the record goes to. Its recipe needs `then`, with this recipe's queue.", ""},
	{"preflight.oversize.recipe", KindFile, "that queue is worked on its own", "a recipe of that queue", "The recipe of that queue, for `siding run` and `siding work` to work it too.", ""},

	{"retry", KindMap, "", "", "How often a message is tried, and how long it rests between.", ""},
	{"retry.max_retries", KindInteger, "`3`", "0 to 1,000,000", "How many failed deliveries may be followed by another. 0: each message is tried once.", ""},
	{"retry.base", KindDuration, "`1s`", "more than 0, at most ten years", "The delay after the n-th failure is base·factorⁿ, at least what the service asked for.", ""},
	{"retry.factor", KindNumber, "`2`", "at least 1", "See base.", ""},
	{"retry.cap", KindDuration, "`60s`", "more than 0, at most ten years", "The longest delay, before jitter.", ""},
	{"retry.jitter", KindNumber, "`0.3`", "0 to 10", "Up to this share of the delay is added by chance, so that not everything comes back at once.", ""},
	{"retry.gray_retries", KindInteger, "`1`", "0 to 1,000,000", "How many gray failures (perhaps chance, perhaps the message's fault) may be followed by another delivery.", ""},
	{"retry.gray", KindList, "none", "causes", "Causes that count as gray although they are permanent by default, for instance `schema-mismatch`.", ""},

	{"concurrency", KindInteger, "`8`", "1 to 1000", "How many messages are worked on at once.", ""},
	{"on_unknown", KindText, "`resend`", "`resend` or `quarantine`", "What happens to a message one of whose calls may have been billed although no answer came: it is asked again and may be paid twice, or it is set aside as `unknown-call`.", ""},

	{"budget", KindMap, "", "", "The most that may be spent. Only Claude costs money, so only a recipe with the group claude can have one.", ""},
	{"budget.usd", KindMoney, "no limit", "more than 0, at most 9,000,000, at most twelve decimals", "In dollars, for all calls ever made for this queue, and those of unknown fate at the most that they can cost. A call that could exceed it is not made: the recipe is [held](concepts.md) instead. The model must have a known price.", ""},

	{"alert", KindMap, "", "", "When somebody is told that the queue needs a look, and how: at least one rule, and a command or a webhook. See [the quarantine](quarantine.md#alerts).", ""},
	{"alert.dead", KindInteger, "never", "at least 1", "When the queue has this many dead letters, and again when it has fewer.", ""},
	{"alert.new_group", KindBool, "`false`", "", "When there are failures of a kind that nobody has looked at, or of one that had been resolved.", ""},
	{"alert.hold", KindBool, "`false`", "", "When the account, the lane or the recipe is [held](holds.md), and when it is not any more.", ""},
	{"alert.review_prompt", KindBool, "`false`", "", "When more than 1 % of the answers do not fit the output schema, and when it is not so any more.", ""},
	{"alert.command", KindList, "none", "", "The program to run and its arguments, in the recipe's folder. No shell reads them. The notice comes on standard input.", ""},
	{"alert.webhook", KindText, "none", "http or https", "The address to which the notice is posted; `${NAME}` behind the host stands for a variable of the environment.", ""},
	{"alert.allow_private", KindBool, "`false`", "", "Lets the webhook be an address of this machine or of a private network, and be reached through the environment's proxy.", ""},
	{"then", KindMap, "", "", "Where a result goes back to: the record that was sent here because it was too large, see `preflight.oversize`.", ""},
	{"then.queue", KindText, "must be given with then", "as queue, and another one", "The queue of that record.", ""},
	{"then.field", KindPointer, "must be given with then", "RFC 6901", "The field of that record that the result takes the place of, or becomes.", ""},
}

// find gives a key by its path, or nil.
func find(path string) *Key {
	for i := range keys {
		if keys[i].Path == path {
			return &keys[i]
		}
	}
	return nil
}

// within gives the names of the keys in a group; the empty path is the recipe itself.
func within(group string) []string {
	var names []string
	for _, k := range keys {
		if dir, name := cutLast(k.Path); dir == group {
			names = append(names, name)
		}
	}
	return names
}

// cutLast takes a path apart into its group and its last name, and join puts them together.
func cutLast(path string) (group, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

func join(group, name string) string {
	if group == "" {
		return name
	}
	return group + "." + name
}
