package quarantine

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A parser makes a repair of what stands after its name and a colon; empty where there is none.
type parser func(arguments string) (Repair, error)

var repairs = struct {
	sync.RWMutex
	known map[string]parser
}{known: builtinRepairs()}

func builtinRepairs() map[string]parser {
	return map[string]parser{
		nameStripUTF8:     plainRepair(nameStripUTF8, stripInvalidUTF8),
		nameReplaceUTF8:   plainRepair(nameReplaceUTF8, replaceInvalidUTF8),
		nameStripControl:  plainRepair(nameStripControl, stripControl),
		nameFixSurrogates: plainRepair(nameFixSurrogates, fixSurrogates),
		nameFixJSON:       plainRepair(nameFixJSON, fixJSON),
		nameTruncate:      newTruncate,
		nameDrop:          newDrop,
		nameSet:           newSet,
		nameRename:        newRename,
		nameJQ:            newJQ,
		nameRequest:       newRequest,
		nameCommand:       newCommand,
	}
}

var repairName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// RegisterRepair adds a repair under a name, so that [ParseRepair] finds it. parse gets what stands after the name and a
// colon, empty where there is nothing, and says in its error what is wrong with that. The name has small letters, digits
// and hyphens, begins with a letter, and may not be taken yet. It may be called by several goroutines.
func RegisterRepair(name string, parse func(arguments string) (Repair, error)) error {
	switch {
	case !repairName.MatchString(name):
		return fmt.Errorf("%q is no name for a repair; it has small letters, digits and hyphens, and begins with a letter", shorten(name))
	case parse == nil:
		return fmt.Errorf("the repair %s has nothing that reads it", name)
	}
	repairs.Lock()
	defer repairs.Unlock()
	if _, taken := repairs.known[name]; taken {
		return fmt.Errorf("there is a repair %s already", name)
	}
	repairs.known[name] = parse
	return nil
}

// RepairNames lists the names of all repairs, sorted.
func RepairNames() []string {
	repairs.RLock()
	defer repairs.RUnlock()
	return slices.Sorted(maps.Keys(repairs.known))
}

// ParseRepair reads a repair as --repair has it: a name, or a name, a colon and its arguments.
func ParseRepair(text string) (r Repair, err error) {
	name, args, colon := strings.Cut(text, ":")
	repairs.RLock()
	parse, ok := repairs.known[name]
	repairs.RUnlock()
	if !ok {
		return nil, fmt.Errorf("%q is no repair; the repairs are %s", shorten(name), words(RepairNames()))
	}
	if colon && args == "" {
		return nil, fmt.Errorf("the repair %s: nothing stands after the colon", name)
	}
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("the repair %s panicked while it was read: %s", name, shorten(fmt.Sprint(p)))
		}
	}()
	if r, err = parse(args); err != nil {
		return nil, fmt.Errorf("the repair %s: %w", name, err)
	}
	if r == nil {
		return nil, fmt.Errorf("the repair %s: its parser gave nothing", name)
	}
	return r, nil
}
