// Package mutants breaks each of the rules that never break, on purpose and one at a time, to see that the tests notice.
// A suite in which a mutant lives proves less than it says.
//
//	make mutants
//
// takes some minutes: each mutant is built and tested through an overlay, so that the tree stays as it is. The fast test
// of this package only makes sure that the text which each mutant replaces still stands in its file, once.
package mutants

// A Mutant is one way to break a rule.
type Mutant struct {
	Rule int    // as docs/concepts.md numbers them
	Name string // what it does, in words
	File string // from the top of the repository
	Old  string // stands in the file exactly once
	New  string
	// Tests are the arguments of go test that must fail; empty: the simulation.
	Tests []string
}

// List gives every mutant.
func List() []Mutant {
	return []Mutant{
		{1, "a transient failure costs two attempts", "route.go",
			"	default:\n		d.Attempt++\n", "	default:\n		d.Attempt += 2\n", nil},
		{1, "a message that is held pays an attempt", "route.go",
			"		d.Alone = m.Alone\n		if f.WaitCounts {", "		d.Alone = m.Alone\n		d.Attempt++\n		if f.WaitCounts {", nil},
		{1, "a settlement does not need the current lease", "memory/tables.go",
			"m.State != siding.StateLeased || m.lease.nonce != t.Nonce {", "m.State == siding.StateDone {", nil},
		{2, "a permanent failure goes back", "route.go",
			"		d.die(ReasonPoison)\n		if f.Reason != \"\" {\n			d.Reason = f.Reason\n		}\n",
			"		d.AvailableAt = now.Add(minDelay)\n", nil},
		{2, "the limit of attempts is one too high", "route.go",
			"		if d.Attempt >= p.MaxAttempts() {\n			d.die(ReasonAttemptsExhausted)",
			"		if d.Attempt > p.MaxAttempts() {\n			d.die(ReasonAttemptsExhausted)", nil},
		{3, "a redrive keeps the attempt", "route.go",
			"	m.Attempt, m.Gray, m.Waits, m.Interruptions = 0, 0, 0, 0\n	m.Suspect",
			"	m.Gray, m.Waits, m.Interruptions = 0, 0, 0\n	m.Suspect", nil},
		{4, "a lease does not change the token", "memory/lease.go",
			"	x.lastNonce++\n", "	x.lastNonce = max(x.lastNonce, 1)\n", []string{"./memory", "-run", "TestConformance"}},
		{5, "the store's clock follows a wall clock that jumps back", "memory/store.go",
			"	if wall.Before(d.wall) {\n		d.offset += d.wall.Sub(wall)\n	}\n", "	if wall.Before(d.wall) {\n		d.last = wall\n	}\n", nil},
		{5, "the store's clock stands still", "memory/store.go",
			"	if !now.After(d.last) {\n", "	if now.Before(d.last) {\n", []string{"./memory", "-run", "TestConformance"}},
		{6, "texts are stored as they come", "scrub.go",
			"	if len(s) <= limit && clean(s) {", "	if len(s) <= limit || clean(s) {", []string{".", "-run", "Scrub"}},
		{6, "the history grows for ever", "memory/settle.go",
			"	if len(m.history) > 2*siding.HistoryEnds {", "	if len(m.history) > 200*siding.HistoryEnds {", []string{"./memory", "-run", "TestConformance"}},
		{7, "a row that cannot be read ends a listing", "sqlite/list.go",
			"			if !yield(l.given()) {\n", "			if x, err := l.given(); !yield(x, err) || err != nil {\n",
			[]string{"./sqlite", "-run", "TestConformance"}},
		{8, "a write that fails is kept by half", "memory/tables.go",
			"				for _, undo := range slices.Backward(x.undo) {\n					undo()\n				}\n", "				x.undo = nil\n", nil},
		{9, "stopping condemns what it interrupts", "worker/core_lease.go",
			"Outcome: siding.OutcomeInterrupted, Cause: siding.CauseShutdown, Err: cause}", "Outcome: siding.OutcomePermanent, Cause: siding.CauseShutdown, Err: cause}", nil},
		{10, "an answer in the journal is asked for again", "memory/journal.go",
			"		if c := x.answerFor(m, r); c != nil {", "		if c := x.answerFor(m, r); c != nil && false {", nil},
		{10, "an answer is used before it is in the journal", "claude/handle.go",
			"	if err := c.h.save(ctx, end); err != nil {\n", "	if err := c.h.save(ctx, end); err != nil && f != nil {\n", nil},
		{10, "a call whose process died costs nothing", "memory/lease.go",
			"			x.giveUp(c)\n", "			c := *c\n			c.Fate = siding.FateUnsent\n			set(x, x.calls, id, &c)\n", nil},
		{11, "being throttled costs an attempt", "claude/classify.go",
			"		return rateLimited\n", "		return serverError\n", []string{"./claude", "-run", "Classif"}},
		{11, "a fault of the account is the message's", "claude/classify_text.go",
			"	accountFault   = verdict{outcome: siding.OutcomeHeld,", "	accountFault   = verdict{outcome: siding.OutcomePermanent,", nil},
		{12, "everybody in a process that dies is to blame", "memory/lease.go",
			"Solo: m.lease.solo, Err: errors.New(text)}", "Solo: true, Err: errors.New(text)}", nil},
		{12, "suspects are delivered together with others", "memory/choose.go",
			"		case m.Suspect || m.Alone:", "		case m.Alone:", nil},
		{13, "an answer need not fit the schema", "claude/accept.go",
			"		return nil, mismatch(err)\n	}\n	return result, nil", "		return []byte(`{}`), nil\n	}\n	return result, nil", nil},
		{13, "a refusal is an answer", "claude/accept.go",
			"	case \"refusal\":", "	case \"refused\":", []string{"./claude", "-run", "Accept"}},
		{14, "enqueueing a dead message says that all is well", "memory/enqueue.go",
			"			return siding.EnqueueDead, nil\n", "			return siding.EnqueueUnchanged, nil\n", []string{"./memory", "-run", "TestConformance"}},
		{15, "a message that is given up disappears", "memory/operator.go",
			"		m.discardReason = reason\n		x.ended(m)\n		x.put(m)\n", "		x.ended(m)\n		drop(x, x.messages, m.number)\n", nil},
	}
}
