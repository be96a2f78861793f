package postgres

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/siding-dev/siding"
)

// quarantineTables are the rules for single rows of what the quarantine keeps beside messages.
var quarantineTables = []checkedTable{
	{name: "bodies", key: "message", message: "x.message", rules: []checkRule{
		orphan,
		{"body-lost", "its body is gone, and retention did not drop it; or the other way round",
			"(x.body IS NULL) <> m.no_body", ""},
		{"body-needed", "it is to be worked, and its body has been dropped", "m.no_body AND m.state IN ('ready', 'leased')", ""},
	}},
	{name: "revisions", key: "id", message: "x.message", rules: []checkRule{
		orphan,
		{"revision-kind", "its history has something that cannot happen", "x.kind NOT IN (" + quoted(siding.RevisionKinds()) + ")", "x.kind"},
	}},
	{name: "failure_groups", key: "queue", message: "NULL", rules: []checkRule{
		{"group-impossible", "nothing arrived in a group, or the latest before the first",
			"x.arrived < 1 OR x.last_seen < x.first_seen OR x.last_seen > (SELECT last_value FROM clock_last)",
			"x.fingerprint"},
	}},
	{name: "audit", key: "id", message: "NULL", rules: []checkRule{
		{"audit-impossible", "the audit trail has an action that there is not, or one that changed nothing",
			"x.n < 1 OR x.last < x.at OR x.action NOT IN (" + quoted(siding.Actions()) + ")", "x.id"},
	}},
	{name: "notes", key: "version", message: "NULL", rules: []checkRule{
		{"note-impossible", "a note is too long, or has no version",
			"x.version < 1 OR length(x.value) > " + strconv.Itoa(siding.MaxNote), "x.key"},
	}},
}

// quoted gives codes as a list in SQL.
func quoted[T ~string](codes []T) string {
	list := make([]string, len(codes))
	for i, c := range codes {
		list[i] = "'" + string(c) + "'"
	}
	return strings.Join(list, ", ")
}

// checkBodies finds bodies that are not those whose hash is kept.
func checkBodies(c *conn, from, to int64, found *[]siding.Violation) error {
	return c.query(func(r *row) error {
		if h := r.hash(2); r.err != nil || h != sha256.Sum256(r.blob(3)) {
			*found = append(*found, siding.Violation{
				Rule: "body-damaged", Queue: r.str(0), ID: r.str(1), Text: "its body is not the one whose hash is kept",
			})
		}
		return nil
	}, `SELECT q.name, m.event_id, coalesce(b.body_hash, b.hash), b.body FROM bodies b JOIN messages m ON m.id = b.message
		LEFT JOIN queues q ON q.id = m.queue WHERE b.message BETWEEN ? AND ? AND b.body IS NOT NULL AND b.codec = '' AND b.key_id = ''`, from, to)
}

// checkGroups finds groups that cannot be read.
func checkGroups(c *conn, from, to int64, found *[]siding.Violation) error {
	return c.query(func(r *row) error {
		queue, fingerprint := r.str(groupWidth), siding.Scrub(r.str(groupWidth+1), 128)
		if g := r.group(0); g.err != nil {
			*found = append(*found, siding.Violation{Rule: "group-unreadable", Queue: queue, Text: "group " + fingerprint + ": " + g.err.Error()})
		}
		return nil
	}, "SELECT "+groupColumns+", q.name, g.fingerprint FROM failure_groups g LEFT JOIN queues q ON q.id = g.queue WHERE g.queue BETWEEN ? AND ?", from, to)
}

// groupRule counts the dead letters of each group again.
var groupRule = checkRule{"group-mismatch", "dead letters belong to a group that is not there, or into which fewer arrived", `
	SELECT q.name, d.fingerprint || ': ' || d.n FROM (SELECT queue, fingerprint, count(*) AS n FROM messages
		WHERE state = 'dead' AND fingerprint IS NOT NULL GROUP BY queue, fingerprint) d
	LEFT JOIN failure_groups g ON g.queue = d.queue AND g.fingerprint = d.fingerprint
	LEFT JOIN queues q ON q.id = d.queue WHERE g.arrived IS NULL OR g.arrived < d.n`, ""}
