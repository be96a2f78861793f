package alert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// What a notice says of its condition. The values are stored and sent, so the list is append-only.
const (
	StateFiring   = "firing"
	StateResolved = "resolved"
)

// Notice is what a sink is sent, as one JSON object. Texts in it are scrubbed. Notices of new groups and tests are followed
// by none that says resolved.
type Notice struct {
	Type      string    `json:"type"` // alert
	V         int       `json:"v"`    // 1
	ID        string    `json:"id"`   // the same when it is sent twice
	Queue     string    `json:"queue"`
	Rule      Rule      `json:"rule"`
	State     string    `json:"state"` // firing or resolved
	Text      string    `json:"text"`  // all of it in one sentence or two
	At        time.Time `json:"at"`    // when it was found, by the store's clock
	Since     time.Time `json:"since"` // since when the condition holds, or held
	Simulated bool      `json:"simulated"`

	Dead       int64         `json:"dead"`                  // letters in the queue, at that time
	Limit      int64         `json:"limit,omitempty"`       // of rule dead
	Mismatches int64         `json:"mismatches,omitempty"`  // of rule review_prompt
	Ended      int64         `json:"ended,omitempty"`       // of rule review_prompt: done or set aside
	Hold       *HoldNotice   `json:"hold,omitempty"`        // of rule hold
	GroupCount int           `json:"group_count,omitempty"` // of rule new_group
	Groups     []GroupNotice `json:"groups,omitempty"`      // the first of them, at most [MaxGroups]

	key string // of the condition
}

// HoldNotice says what is held, or was.
type HoldNotice struct {
	Scope siding.Scope    `json:"scope"`
	Name  string          `json:"name"`
	Kind  siding.HoldKind `json:"kind,omitempty"`
	Cause siding.Cause    `json:"cause,omitempty"`
	Text  string          `json:"text,omitempty"`
	Until time.Time       `json:"until,omitzero"` // as the service says
}

// GroupNotice names a group of failures.
type GroupNotice struct {
	Fingerprint string       `json:"fingerprint"`
	Cause       siding.Cause `json:"cause"`
	Dead        int64        `json:"dead"`
	Regression  bool         `json:"regression"` // it had been resolved
	Sample      string       `json:"sample"`     // the error text of one of them
	SampleID    string       `json:"sample_id"`
}

// MaxGroups is how many groups a notice names at most; it counts all.
const MaxGroups = 10

// maxText bounds the texts in a notice, in bytes.
const maxText = 300

// oneLine makes a text fit for a notice: short, on one line, and safe to show.
func oneLine(text string, limit int) string {
	return strings.Join(strings.Fields(siding.Scrub(text, limit)), " ")
}

// Test gives a notice that says nothing but that notices arrive.
func Test(queue string, now time.Time) Notice {
	queue = oneLine(queue, maxText)
	return Notice{
		Type: "alert", V: 1, ID: fmt.Sprintf("%s-test-%d", queue, now.UnixMicro()), Queue: queue, Rule: RuleTest, State: StateFiring,
		Text: fmt.Sprintf("siding: a test: alerts of queue %s arrive here", queue), At: now, Since: now,
	}
}

// heading begins the text of a notice.
func (n Notice) heading() string {
	head := "siding"
	if n.Simulated {
		head += " (simulated)"
	}
	if n.State == StateResolved {
		head += ": resolved"
	}
	return head + ": queue " + n.Queue + ": "
}

// delivery gives the notice as a message for a sink's handler: one line, for programs that append it to a file.
func (n Notice) delivery(tries int) (*siding.Delivery, error) {
	body, err := json.Marshal(n)
	if err != nil {
		return nil, fmt.Errorf("the notice %s: %w", n.ID, err)
	}
	return &siding.Delivery{Number: tries + 1, StartedAt: n.At, Message: siding.Message{
		ID: n.ID, Queue: n.Queue, Body: append(body, '\n'), ContentType: "application/json", Attempt: tries, Headers: map[string]string{
			"id": n.ID, "queue": n.Queue, "rule": string(n.Rule), "state": n.State, "text": n.Text, "simulated": strconv.FormatBool(n.Simulated),
		},
	}}, nil
}

// Variables gives what a program that is handed a notice finds in its environment beside the notice on standard input:
// SIDING_ALERT_ID, _QUEUE, _RULE, _STATE, _TEXT and _SIMULATED (true or false).
func Variables(d *siding.Delivery) []string {
	var env []string
	for _, name := range []string{"id", "queue", "rule", "state", "text", "simulated"} {
		env = append(env, "SIDING_ALERT_"+strings.ToUpper(name)+"="+strings.ReplaceAll(d.Headers[name], "\x00", ""))
	}
	return env
}
