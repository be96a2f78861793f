package quarantine

import (
	"context"
	"fmt"
	"strings"

	"github.com/siding-dev/siding"
)

// inBody tells the causes that lie in the body, where other checks say more.
func inBody(c siding.Cause) bool {
	switch c {
	case siding.CauseInvalidJSON, siding.CauseInvalidUTF8, siding.CauseInvalidText, siding.CauseBodyTooLarge,
		siding.CauseSchemaViolation, siding.CauseTemplate, siding.CauseEmptyInput, siding.CauseInputTooLarge, siding.CauseInvalidMedia,
		siding.CauseInvalidCSV:
		return true
	}
	return false
}

// inAnswer tells the causes that lie in what came back, where the check of the answer says more if it was kept.
func inAnswer(c siding.Cause) bool {
	switch c {
	case siding.CauseTruncated, siding.CauseRefused, siding.CauseSchemaMismatch:
		return true
	}
	return false
}

// passing tells the causes that lie in neither, and may be gone.
func passing(c siding.Cause) bool {
	switch c {
	case siding.CauseRateLimited, siding.CauseOverloaded, siding.CauseServerError, siding.CauseTimeout, siding.CauseNetwork,
		siding.CauseBadResponse, siding.CauseAccount, siding.CauseCredentials, siding.CauseModelNotFound, siding.CauseConfiguration,
		siding.CauseLeaseLost, siding.CauseShutdown, siding.CauseHostRestart, siding.CauseBudget, siding.CauseEmptyAnswer,
		siding.CauseUnknownStopReason, siding.CauseContentFiltered:
		return true
	}
	return false
}

// checkFailure says what the failure itself says.
func checkFailure(_ context.Context, e *exam) ([]Finding, int) {
	m := e.s.Message
	if m.LastError == nil {
		return nil, 0
	}
	l := m.LastError
	var from []string
	if l.Status != 0 {
		from = append(from, fmt.Sprintf("HTTP %d", l.Status))
	}
	if l.RequestID != "" {
		from = append(from, "request "+shorten(l.RequestID))
	}
	text := strings.Join(from, ", ")
	if text != "" {
		text += ": "
	}
	f := Finding{Code: string(l.Cause), Text: text + siding.Scrub(l.Text, 1<<10)}
	switch {
	case m.NoBody:
		f.Text += ". Its body has been dropped: enqueue it again"
		f.Fault = true
	case m.Reason == siding.ReasonUnknownCall:
		f.Text += ". A call may have been billed without an answer; nothing is wrong with the body, and a redrive asks once more"
	case m.Reason == siding.ReasonCrash:
		f.Text += ". Processes died around it: nothing that a repair can know"
		f.Fault = true
	case passing(l.Cause):
		f.Text += ". This does not lie in the body: a redrive as it is may succeed"
	case inBody(l.Cause), inAnswer(l.Cause) && (e.s.Answer != nil || l.Cause != siding.CauseSchemaMismatch):
		// Other checks say more.
	default:
		f.Fault = true
	}
	if l.FaultOffset != nil && *l.FaultOffset >= 0 && *l.FaultOffset <= int64(len(e.body)) && !m.NoBody {
		f = e.at(f, int(*l.FaultOffset))
	}
	return []Finding{f}, 1
}

// checkRecipe says what the recipe would find wrong with the message now, where no other check has found it.
func checkRecipe(_ context.Context, e *exam) ([]Finding, int) {
	if e.f.Check == nil || e.s.Message.NoBody {
		return nil, 0
	}
	failure := e.f.Check(e.s.Message)
	switch {
	case failure == nil && inBody(e.cause) && !e.hasFault():
		return []Finding{{Code: "passes-now", Text: "the recipe finds nothing wrong with it any more: a redrive as it is goes on"}}, 1
	case failure == nil || e.hasFault():
		return nil, 0
	}
	f := Finding{Code: string(failure.Cause), Text: "the recipe would set it aside again: " + failure.Error(), Fault: true}
	if at := failure.FaultOffset; at != nil && *at >= 0 && *at <= int64(len(e.body)) {
		f = e.at(f, int(*at))
	}
	return []Finding{f}, 1
}

// checkResult tries the repairs that fit, and says so where they do not mend the message.
func (e *exam) checkResult(ctx context.Context, all []Finding) ([]Finding, int) {
	texts := Suggest(all)
	if len(texts) == 0 {
		return nil, 0
	}
	list, err := ParseRepairs(texts)
	if err != nil {
		return []Finding{{Code: "not-mended", Text: "the repairs cannot be read: " + err.Error(), Fault: true}}, 1
	}
	p := list.Preview(ctx, e.s.Message, e.f)
	if p.Verdict == Changed {
		return nil, 0
	}
	return []Finding{{Code: "not-mended", Fault: true, Text: "the repairs that fit do not mend it: " + list.String() + " " + notMended(p)}}, 1
}

func notMended(p Preview) string {
	if p.Verdict == Unchanged {
		return "changes nothing"
	}
	return "gives a body that cannot be sent: " + p.Problem
}
