package quarantine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/siding-dev/siding"
)

// Check looks for one kind of thing in a dead letter.
type Check struct {
	// Name is that of its findings: small letters, digits and hyphens.
	Name string
	// Find looks. It may not change what it is given. A panic becomes a finding, and the other checks go on.
	Find func(ctx context.Context, s Subject, f Facts) []Finding
}

var checks = struct {
	sync.RWMutex
	own []Check
}{}

// Register adds a check, which then belongs to every diagnosis, after those that are built in. Its name may not be taken
// yet. It may be called by several goroutines.
func Register(c Check) error {
	switch {
	case !checkName.MatchString(c.Name):
		return fmt.Errorf("%q is no name for a check; it has small letters, digits and hyphens, and begins with a letter", shorten(c.Name))
	case c.Find == nil:
		return fmt.Errorf("the check %s has nothing that finds", c.Name)
	}
	checks.Lock()
	defer checks.Unlock()
	taken := func(each Check) bool { return each.Name == c.Name }
	if c.Name == checkResult || slices.ContainsFunc(checks.own, taken) || slices.ContainsFunc(builtinChecks(), func(b builtin) bool { return b.name == c.Name }) {
		return fmt.Errorf("there is a check %s already", c.Name)
	}
	checks.own = append(checks.own, c)
	return nil
}

var checkName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// CheckNames lists the names of all checks, in the order in which they look.
func CheckNames() []string {
	var names []string
	for _, b := range builtinChecks() {
		names = append(names, b.name)
	}
	checks.RLock()
	defer checks.RUnlock()
	for _, c := range checks.own {
		names = append(names, c.Name)
	}
	return names
}

// MaxFindings is how many findings one check gives of a dead letter; when it finds more, the last one says how many.
const MaxFindings = 20

// Diagnose looks for what is wrong with a dead letter, by all checks one after the other. It takes time linear in the
// body, and gives nil where nothing was found.
func Diagnose(ctx context.Context, s Subject, f Facts) []Finding {
	var all []Finding
	e := newExam(s, f)
	for _, b := range builtinChecks() {
		all = append(all, examine(b.name, func() ([]Finding, int) { return b.find(ctx, e) })...)
		e.found = all
	}
	checks.RLock()
	own := slices.Clone(checks.own)
	checks.RUnlock()
	for _, c := range own {
		all = append(all, examine(c.Name, func() ([]Finding, int) {
			list := c.Find(ctx, s, f)
			return list, len(list)
		})...)
	}
	return append(all, examine(checkResult, func() ([]Finding, int) { return e.checkResult(ctx, all) })...)
}

// checkResult is the name of the check that comes last: whether the repairs that were found to fit mend the message.
const checkResult = "repairs"

// examine runs one check and keeps what it finds within bounds.
func examine(name string, find func() (list []Finding, total int)) (list []Finding) {
	defer func() {
		if p := recover(); p != nil {
			list = []Finding{{Check: name, Code: "check-panicked", Text: "the check panicked: " + shorten(fmt.Sprint(p)), Repairs: []string{}}}
		}
	}()
	found, total := find()
	list = slices.Clone(found[:min(len(found), MaxFindings)])
	if more := total - len(list); more > 0 {
		list = append(list, Finding{Code: codeMore, Text: fmt.Sprintf("and %d more", more)})
	}
	for i := range list {
		each := &list[i]
		each.Check = name
		each.Code, each.Text = siding.Scrub(each.Code, 64), siding.Scrub(each.Text, siding.MaxErrorText)
		if each.Repairs == nil {
			each.Repairs = []string{}
		}
	}
	return list
}

// codeMore is the code of the finding that counts those that are not listed.
const codeMore = "more"
