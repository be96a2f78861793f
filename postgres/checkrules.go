package postgres

import (
	"strconv"

	"github.com/siding-dev/siding"
)

// checkedTable is a table whose rows are looked through by ranges of a whole number.
type checkedTable struct {
	name, key string
	// message is how a row names its message, so that a violation can say which it is.
	message string
	rules   []checkRule
}

// checkRule finds the rows that break a rule: where is a condition on a row x, of a message m in a queue q (either may be
// missing).
type checkRule struct {
	name, text string
	where      string
	detail     string // SQL for what to add to the text
}

func (r checkRule) query(t checkedTable) string {
	detail := r.detail
	if detail == "" {
		detail = "''"
	}
	return `SELECT q.name, m.event_id, (` + detail + `)::text FROM ` + t.name + ` x LEFT JOIN messages m ON m.id = ` + t.message +
		` LEFT JOIN queues q ON q.id = m.queue WHERE x.` + t.key + ` BETWEEN ? AND ? AND (` + r.where + `)`
}

// never is [siding.Never] as it is stored.
var never = strconv.FormatInt(siding.Never.UnixMicro(), 10)

var mostSoloCrashes = strconv.Itoa(siding.MaxSoloCrashes)

// ended is how many deliveries of the message x have ended.
const ended = "(x.deliveries - (x.state = 'leased')::int)"

// sinceReset are the deliveries in the history since attempt was last set to 0; they are all of them when there are as many.
const (
	sinceReset  = "FROM deliveries d WHERE d.message = x.id AND d.number > x.reset_after"
	historyKept = "(SELECT count(*) " + sinceReset + ") = " + ended + " - x.reset_after"
)

// checkedTables are the rules for single rows. A rule's name is stable.
var checkedTables = []checkedTable{
	{name: "messages", key: "id", message: "x.id", rules: []checkRule{
		{"state-unknown", "its state is none that a message can be in",
			"x.state NOT IN ('ready', 'leased', 'done', 'dead', 'discarded')", "x.state"},
		{"counter-impossible", "a counter is below 0, or counts more than there were deliveries",
			`least(x.attempt, x.gray, x.waits, x.interruptions, x.redrives, x.deliveries, x.reset_after, x.solo_crashes) < 0
			OR x.gray > x.attempt OR x.attempt > x.deliveries OR x.reset_after > x.deliveries`, ""},
		{"attempt-mismatch", "its attempt is not the number of deliveries that failed through it",
			historyKept + " AND x.attempt <> (SELECT count(*) " + sinceReset + " AND d.outcome IN ('transient', 'gray', 'permanent'))",
			"x.attempt"},
		{"gray-mismatch", "its gray failures are not those of its history",
			historyKept + " AND x.gray <> (SELECT count(*) " + sinceReset + " AND d.outcome = 'gray')", "x.gray"},
		{"history-gap", "its history does not have the first and the last deliveries once each",
			`(SELECT count(*) FROM deliveries d WHERE d.message = x.id AND d.number BETWEEN 1 AND ` + ended + `
			AND (d.number <= 10 OR d.number > ` + ended + ` - 10)) <> least(` + ended + `, 20)
			OR (SELECT count(*) FROM deliveries d WHERE d.message = x.id) > 20`, ""},
		{"permanent-went-back", "it is in the queue although its last delivery failed for good",
			"x.state IN ('ready', 'leased') AND (SELECT d.outcome " + sinceReset + " ORDER BY d.number DESC LIMIT 1) = 'permanent'", ""},
		{"relabelled-half", "its last error and the delivery that left it have different outcomes",
			`EXISTS (SELECT 1 FROM deliveries d JOIN last_errors e ON e.message = d.message WHERE d.message = x.id AND d.number = x.deliveries
			AND d.number > x.reset_after AND d.cause = e.cause AND d.fingerprint = e.fingerprint AND d.outcome NOT IN ('interrupted', e.outcome))`, ""},
		{"held-never", "a delivery of it was held, and it says that none was",
			"x.held_at IS NULL AND EXISTS (SELECT 1 " + sinceReset + " AND d.outcome = 'held')", ""},
		{"suspect-impossible", "what it says of the processes that died around it, or of its last trial, cannot be",
			`x.solo_crashes > 0 AND NOT x.suspect
			OR x.state IN ('ready', 'leased') AND x.solo_crashes >= ` + mostSoloCrashes + ` OR x.reason = 'crash' AND x.solo_crashes < ` + mostSoloCrashes + `
			OR x.state = 'done' AND (x.suspect OR x.alone) OR x.state = 'dead' AND x.alone`, "x.solo_crashes"},
		{"turn-mismatch", "it does not wait among the messages where it belongs",
			"x.turn <> CASE WHEN x.state = 'ready' AND x.waits_for IS NOT NULL THEN -1 WHEN x.suspect OR x.alone THEN 2 + x.solo_crashes ELSE (x.attempt > 0)::int END", "x.turn"},
		{"done-without-success", "it is done, and its last delivery did not succeed",
			"x.state = 'done' AND coalesce((SELECT d.outcome FROM deliveries d WHERE d.message = x.id AND d.number = x.deliveries), '') <> 'done'", ""},
		{"dead-incomplete", "it is dead without a reason, a time or a last error",
			`x.state = 'dead' AND (x.reason IS NULL OR x.dead_at IS NULL OR x.cause IS NULL OR x.fingerprint IS NULL
			OR NOT EXISTS (SELECT 1 FROM last_errors e WHERE e.message = x.id AND e.cause = x.cause AND e.fingerprint = x.fingerprint))`, ""},
		{"dead-left-over", "it is not dead, and has a reason or a time of being set aside",
			"x.state <> 'dead' AND (x.reason IS NOT NULL OR x.dead_at IS NOT NULL)", ""},
		{"time-impossible", "a time lies before it was received, or in the future of the store's clock",
			`x.received_at <= 0 OR x.received_at > (SELECT last_value FROM clock_last) OR x.state = 'ready' AND x.available_at < x.received_at
			OR x.held_at NOT BETWEEN x.received_at AND (SELECT last_value FROM clock_last)
			OR x.state = 'dead' AND x.dead_at NOT BETWEEN x.received_at AND (SELECT last_value FROM clock_last)
			OR x.state = 'leased' AND x.lease_started NOT BETWEEN x.received_at AND (SELECT last_value FROM clock_last)`, ""},
		{"lease-mismatch", "it is leased without a token, an end or a delivery, or has a token and is not leased",
			`(x.state = 'leased') <> (x.lease_nonce <> 0)
			OR x.state = 'leased' AND (x.lease_until IS NULL OR x.lease_started IS NULL OR x.deliveries < 1)`, ""},
		{"lease-of-nobody", "it is leased by a process that is not registered",
			"x.state = 'leased' AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.id = x.process)", "x.process"},
		{"digest-left-over", "it is not done, and has a digest", "x.state <> 'done' AND x.digest IS NOT NULL", ""},
		{"pending-mismatch", "another body waits for it, and it is not leased; or one should, and is missing",
			`x.pending <> EXISTS (SELECT 1 FROM pending_bodies p WHERE p.message = x.id)
			OR x.pending AND x.state <> 'leased'`, ""},
		{"body-missing", "it has no row in bodies", "NOT EXISTS (SELECT 1 FROM bodies b WHERE b.message = x.id)", ""},
		{"error-mismatch", "its cause is not that of its last error",
			`coalesce(x.cause, '') <> coalesce((SELECT e.cause FROM last_errors e WHERE e.message = x.id), '')`, "x.cause"},
		{"waiting-mismatch", "it waits for the result of another queue exactly while it may never be leased",
			"x.state = 'ready' AND (x.waits_for IS NOT NULL) <> (x.available_at = " + never + ")", "x.waits_for"},
		{"waiting-for-nothing", "it waits for the result of another queue, and its copy there is not worked; or it was set aside because of its copy, and that was not",
			`x.waits_for IS NOT NULL AND NOT EXISTS (SELECT 1 FROM copies k JOIN messages c ON c.id = k.copy JOIN queues w ON w.id = c.queue
			WHERE k.origin = x.id AND w.name = x.waits_for AND c.event_id = x.event_id
			AND (x.state = 'ready' AND c.state IN ('ready', 'leased') OR x.state = 'dead' AND c.state = 'dead'))`, "x.waits_for"},
		{"copy-mismatch", "it says that another queue's message was forwarded as it, and there is none; or the other way round",
			"x.copy <> EXISTS (SELECT 1 FROM copies k WHERE k.copy = x.id)", ""},
		{"returned-impossible", "it says that more results have come into its body than its history has, or fewer",
			"x.returned < 0 OR x.returned > (SELECT count(*) FROM revisions r WHERE r.message = x.id AND r.kind = 'returned')", "x.returned"},
		{"queue-missing", "its queue does not exist", "q.id IS NULL", "x.queue"},
		// An answer that came after the message was done has nobody left to judge it.
		{"answer-unjudged", "it is done under a recipe, and nobody judged the answer to its last delivery",
			`x.state = 'done' AND x.digest IS NOT NULL AND EXISTS (SELECT 1 FROM calls c WHERE c.message = x.id AND c.delivery = x.deliveries
			AND c.fate = 'answered' AND c.verdict = ''
			AND c.ended_at <= (SELECT d.ended_at FROM deliveries d WHERE d.message = x.id AND d.number = x.deliveries))`, ""},
		{"request-paid-twice", "a request was sent again that had an accepted answer",
			`EXISTS (SELECT 1 FROM calls a JOIN calls b ON b.message = a.message AND b.request_hash = a.request_hash AND b.id > a.id
			WHERE a.message = x.id AND a.verdict = 'accepted' AND b.digest = a.judged_under AND b.started_at >= a.ended_at)`, ""},
		{"spend-mismatch", "what its calls cost is not what is kept of it",
			`(SELECT coalesce(sum(p.calls), 0) FROM spend p WHERE p.message = x.id) <> (SELECT count(*) FROM calls c WHERE c.message = x.id)
			OR (SELECT ` + saturatingSum("p.cost") + ` FROM spend p WHERE p.message = x.id) <> (SELECT ` + saturatingSum("c.cost") + ` FROM calls c WHERE c.message = x.id AND c.fate = 'answered' AND c.priced)
			OR (SELECT coalesce(sum(p.maybe), 0) FROM spend p WHERE p.message = x.id) <> (SELECT count(*) FROM calls c WHERE c.message = x.id AND c.fate IN ('started', 'unknown'))
			OR (SELECT ` + saturatingSum("p.maybe_max") + ` FROM spend p WHERE p.message = x.id) <> (SELECT ` + saturatingSum("c.worst_cost") + ` FROM calls c WHERE c.message = x.id AND c.priced AND c.fate IN ('started', 'unknown'))
			OR (SELECT coalesce(sum(p.unpriced), 0) FROM spend p WHERE p.message = x.id) <> (SELECT count(*) FROM calls c WHERE c.message = x.id AND c.fate = 'answered' AND NOT c.priced)`, ""},
	}},
	{name: "calls", key: "id", message: "x.message", rules: []checkRule{
		orphan,
		{"fate-unknown", "a call has a fate that calls do not have", "x.fate NOT IN ('started', 'answered', 'refused', 'unsent', 'unknown')", "x.id"},
		{"call-end", "a call has an end exactly when it is not under way", "(x.fate = 'started') <> (x.ended_at IS NULL)", "x.id"},
		{"call-of-nobody", "a call is under way in a process that is not registered",
			"x.fate = 'started' AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.id = x.process)", "x.id"},
		{"call-delivery", "a call was made for a delivery that there was not", "x.delivery NOT BETWEEN 1 AND m.deliveries", "x.id"},
		{"answer-missing", "a call has an answer exactly when it was answered",
			"(x.fate = 'answered') <> EXISTS (SELECT 1 FROM answers a WHERE a.call = x.id)", "x.id"},
		{"verdict-without-answer", "only an answered call has a verdict and a cost", "x.fate <> 'answered' AND (x.verdict <> '' OR x.cost <> 0)", "x.id"},
		{"cost-impossible", "an amount is below 0", "least(x.cost, x.worst_cost) < 0", "x.id"},
	}},
	{name: "copies", key: "copy", message: "x.copy", rules: []checkRule{
		orphan,
		{"copy-of-nothing", "a copy is of a message that does not exist, or has another event ID, or is in its own queue",
			"NOT EXISTS (SELECT 1 FROM messages o WHERE o.id = x.origin AND o.event_id = m.event_id AND o.queue <> m.queue)", "x.origin"},
	}},
	{name: "pending_bodies", key: "message", message: "x.message", rules: []checkRule{orphan}},
	{name: "last_errors", key: "message", message: "x.message", rules: []checkRule{orphan}},
	{name: "deliveries", key: "message", message: "x.message", rules: []checkRule{
		orphan,
		{"delivery-outcome", "a delivery has an outcome that there is not, or an error exactly when it succeeded",
			"x.outcome NOT IN ('done', 'transient', 'gray', 'permanent', 'held', 'interrupted', 'forwarded') OR (x.outcome = 'done') <> (x.error IS NULL)", "x.number"},
		{"delivery-times", "a delivery ended before it began", "x.ended_at < x.started_at", "x.number"},
	}},
	{name: "origins", key: "message", message: "x.message", rules: []checkRule{orphan}},
	{name: "spend", key: "message", message: "x.message", rules: []checkRule{orphan}},
	{name: "results", key: "message", message: "x.message", rules: []checkRule{
		orphan,
		{"result-without-success", "a message that is not done has a result", "m.state <> 'done'", ""},
	}},
	{name: "answers", key: "call", message: "(SELECT c.message FROM calls c WHERE c.id = x.call)", rules: []checkRule{orphan}},
	{name: "gates", key: "id", message: "NULL", rules: []checkRule{
		{"gate-key", "something is held that is no account, lane or recipe",
			"x.scope NOT IN ('account', 'lane', 'recipe') OR x.name = ''", "x.scope || ':' || x.name"},
	}},
	{name: "campaigns", key: "id", message: "NULL"},
	{name: "campaign_members", key: "id", message: "x.message", rules: []checkRule{
		orphan,
		{"campaign-missing", "it is a member of a campaign that does not exist",
			"NOT EXISTS (SELECT 1 FROM campaigns c WHERE c.id = x.campaign)", "x.campaign"},
		{"campaign-member", "what became of it in a campaign is nothing that can become of a member",
			`x.status NOT IN ('pending', 'sent', 'done', 'same', 'other', 'unchanged', 'invalid', 'skipped', 'discarded')`, "x.status"},
		{"campaign-twice", "it waits in two campaigns that are not over",
			`x.status IN ('pending', 'sent') AND EXISTS (SELECT 1 FROM campaign_members o JOIN campaigns c ON c.id = o.campaign JOIN campaigns d ON d.id = x.campaign
			WHERE o.message = x.message AND o.id > x.id AND o.status IN ('pending', 'sent')
			AND c.state NOT IN ('finished', 'aborted') AND d.state NOT IN ('finished', 'aborted'))`, "x.campaign"},
		{"campaign-uncounted", "a campaign sent it, and its end was not counted",
			"x.status = 'sent' AND m.state NOT IN ('ready', 'leased')", "x.campaign"},
		{"campaign-forgotten", "a campaign would never come to it",
			"x.status = 'pending' AND x.id < (SELECT c.next FROM campaigns c WHERE c.id = x.campaign)", "x.campaign"},
	}},
	{name: "inputs", key: "id", message: "NULL", rules: []checkRule{
		{"input-abandoned", "an input is still being read by a process that is gone",
			"x.state = 'open' AND NOT EXISTS (SELECT 1 FROM processes p WHERE p.id = x.process)", "x.id"},
		{"input-state", "an input is in a state that there is not", "x.state NOT IN ('open', 'sealed', 'dropping')", "x.id"},
	}},
	{name: "members", key: "input", message: "x.message", rules: []checkRule{
		orphan,
		{"member-of-nothing", "a member's input does not exist, or is another queue's",
			"NOT EXISTS (SELECT 1 FROM inputs i WHERE i.id = x.input AND i.queue = m.queue)", "x.input"},
	}},
}

// orphan finds rows that belong to no message.
var orphan = checkRule{"orphan", "a row belongs to a message that does not exist", "m.id IS NULL", ""}

// sumRules count again what every write counts. The query gives the queue's name and the difference.
var sumRules = []checkRule{
	{"tally-mismatch", "the messages of a queue are not as many as is kept", `
		WITH counted AS (
			SELECT m.queue, 0 AS input, m.state, m.attempt > 0 AS tried, ` + standingSQL + `, count(*) AS n FROM messages m GROUP BY 1, 2, 3, 4, 5, 6
			UNION ALL
			SELECT m.queue, s.input, m.state, m.attempt > 0 AS tried, ` + standingSQL + `, count(*) FROM members s JOIN messages m ON m.id = s.message
			JOIN inputs i ON i.id = s.input AND i.state <> 'dropping' GROUP BY 1, 2, 3, 4, 5, 6)
		SELECT q.name, 'input ' || coalesce(c.input, t.input) || ', ' || coalesce(c.state, t.state) || ': ' || coalesce(c.n, 0) || ' counted, '
			|| coalesce(t.n, 0) || ' kept'
		FROM counted c FULL JOIN (SELECT queue, input, state, tried, detail, fingerprint, sum(n) AS n FROM tallies
			WHERE input NOT IN (SELECT id FROM inputs WHERE state = 'dropping') GROUP BY 1, 2, 3, 4, 5, 6) t
			ON t.queue = c.queue AND t.input = c.input AND t.state = c.state AND t.tried = c.tried AND t.detail = c.detail
			AND t.fingerprint = c.fingerprint
		LEFT JOIN queues q ON q.id = coalesce(c.queue, t.queue)
		WHERE coalesce(c.n, 0) <> coalesce(t.n, 0)`, ""},
	{"total-mismatch", "what the calls of a queue cost is not what is kept of it", `
		WITH counted AS (
			SELECT m.queue, 0 AS input, sum(p.calls) AS calls, sum(p.maybe) AS maybe, sum(p.unpriced) AS unpriced, ` +
		saturatingSum("p.cost") + ` AS cost, ` + saturatingSum("p.maybe_max") + ` AS maybe_max FROM spend p JOIN messages m ON m.id = p.message GROUP BY 1, 2
			UNION ALL
			SELECT m.queue, s.input, sum(p.calls), sum(p.maybe), sum(p.unpriced), ` +
		saturatingSum("p.cost") + `, ` + saturatingSum("p.maybe_max") + `
			FROM members s JOIN (SELECT message AS origin, message FROM spend UNION ALL SELECT origin, copy FROM copies) o ON o.origin = s.message
			JOIN spend p ON p.message = o.message JOIN messages m ON m.id = s.message
			JOIN inputs i ON i.id = s.input AND i.state <> 'dropping' GROUP BY 1, 2)
		SELECT q.name, 'input ' || coalesce(c.input, t.input)
		FROM counted c FULL JOIN (SELECT queue, input, sum(calls) AS calls, sum(maybe) AS maybe,
			sum(unpriced) AS unpriced, ` + saturatingSum("cost") + ` AS cost, ` + saturatingSum("maybe_max") + ` AS maybe_max FROM spend_totals
			WHERE input NOT IN (SELECT id FROM inputs WHERE state = 'dropping') GROUP BY 1, 2) t
			ON t.queue = c.queue AND t.input = c.input
		LEFT JOIN queues q ON q.id = coalesce(c.queue, t.queue)
		WHERE coalesce(c.calls, 0) <> coalesce(t.calls, 0) OR coalesce(c.maybe, 0) <> coalesce(t.maybe, 0)
			OR coalesce(c.unpriced, 0) <> coalesce(t.unpriced, 0) OR coalesce(c.cost, 0) <> coalesce(t.cost, 0)
			OR coalesce(c.maybe_max, 0) <> coalesce(t.maybe_max, 0)`, ""},
}

// standingSQL gives a message's detail and fingerprint as tallies have them; see stored.standing.
const standingSQL = `CASE m.state WHEN 'done' THEN coalesce(m.digest, '') WHEN 'dead' THEN coalesce(m.cause, '')
	WHEN 'ready' THEN coalesce(m.waits_for, '') ELSE '' END AS detail,
	CASE m.state WHEN 'dead' THEN coalesce(m.fingerprint, '') ELSE '' END AS fingerprint`

// saturatingSum is SQL for a sum of amounts that ends at the largest one, as [siding.Money.Add] does.
func saturatingSum(column string) string {
	return "least(coalesce(sum(" + column + "), 0), 9223372036854775807)::bigint"
}
