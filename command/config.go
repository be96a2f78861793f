package command

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// Config says what to run, and how. Argv is needed; everything else has a default.
type Config struct {
	// Argv is the program and its arguments. No shell reads them. A program without a slash in its name is looked for in
	// PATH; one with a slash is found from Dir.
	Argv []string
	// Dir is the working directory; empty: that of this process.
	Dir string
	// Env lists what the program gets of the environment, beside PATH, HOME, USER, LOGNAME, LANG, LANGUAGE, LC_ALL,
	// LC_CTYPE, TZ and TMPDIR (and what Windows needs): NAME hands a variable on, which must be there when the handler is
	// made; NAME=value sets one. SIDING_EVENT_ID, SIDING_QUEUE and SIDING_ATTEMPT (from 0) are always set.
	Env []string
	// Variables gives further variables, as NAME=value, for one delivery; nil: none.
	Variables func(d *siding.Delivery) []string
	// Timeout bounds one run; 0: 5 minutes. From 1 s to 24 h.
	Timeout time.Duration
	// Grace is how long the program and its children have to end after SIGTERM, until SIGKILL; 0: 5 seconds. Up to
	// 1 minute.
	Grace time.Duration
	// Permanent and Gray list exit statuses, from 1 to 255, that mean so; beyond what [Handler.Handle] says.
	Permanent, Gray []int
	// MaxOutput is the longest result, in bytes; 0: 1 MiB. Up to 64 MiB. A program that writes more is stopped, and its
	// message set aside.
	MaxOutput int64
	// OutputSchema is a JSON Schema that every result must fit; nil: anything is a result.
	OutputSchema []byte
	// JSON takes every body for a JSON record, whatever the message's content type. Otherwise that is so for messages of a
	// JSON type.
	JSON bool
	// InputSchema is a JSON Schema that every JSON record must fit; nil for none.
	InputSchema []byte
	// LookupEnv gives variables of the environment; nil: os.LookupEnv.
	LookupEnv func(name string) (string, bool)
}

const (
	defaultTimeout = 5 * time.Minute
	minTimeout     = time.Second
	maxTimeout     = 24 * time.Hour
	defaultGrace   = 5 * time.Second
	maxGrace       = time.Minute
	defaultOutput  = 1 << 20
	maxOutput      = 64 << 20
)

// complete fills in the defaults and says what is wrong, all at once. Each error begins with the field's name as a
// recipe has it.
func (c Config) complete() (Config, error) {
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		fail("argv", "it is empty; give the program and its arguments, for instance [python3, tag.py]")
	}
	for i, arg := range c.Argv {
		if strings.ContainsRune(arg, 0) {
			fail("argv", "argument %d has a NUL in it, and no program can be given that", i)
		}
	}
	if strings.ContainsRune(c.Dir, 0) {
		fail("dir", "it has a NUL in it")
	}
	bounded := func(field string, d *time.Duration, usual, least, most time.Duration) {
		if *d == 0 {
			*d = usual
		}
		if *d < least || *d > most {
			fail(field, "it is %v; it must be from %v to %v", *d, least, most)
		}
	}
	bounded("timeout", &c.Timeout, defaultTimeout, minTimeout, maxTimeout)
	bounded("grace", &c.Grace, defaultGrace, time.Millisecond, maxGrace)
	if c.MaxOutput == 0 {
		c.MaxOutput = defaultOutput
	}
	if c.MaxOutput < 1 || c.MaxOutput > maxOutput {
		fail("max_output", "it is %d; it must be from 1 to %d bytes", c.MaxOutput, maxOutput)
	}
	for _, code := range slices.Concat(c.Permanent, c.Gray) {
		if code < 1 || code > 255 {
			fail("permanent, gray", "%d is no exit status of a failure; they go from 1 to 255", code)
		}
		if slices.Contains(c.Permanent, code) && slices.Contains(c.Gray, code) {
			fail("gray", "exit status %d stands under permanent too; it can mean only one of them", code)
		}
	}
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	return c, errors.Join(errs...)
}

// handedOn are the variables that a program gets without being asked for: what it needs to find its files, its user and
// its language, and no key or password.
var handedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", // Windows
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// hiddenFrom is the length, in bytes, from which a value that was handed on by name is taken out of error texts: a
// shorter one is no secret.
const hiddenFrom = 6

// environment makes the program's environment, and gives pairs of values and what is shown in their place.
func (c Config) environment() (env, hidden []string, err error) {
	for _, name := range handedOn {
		if value, ok := c.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	var errs []error
	for _, entry := range c.Env {
		name, value, set := strings.Cut(entry, "=")
		switch {
		case !variableName.MatchString(name):
			errs = append(errs, fmt.Errorf("%q is no name of a variable; write NAME or NAME=value", cut(name, 64)))
			continue
		case strings.HasPrefix(name, "SIDING_"):
			errs = append(errs, fmt.Errorf("%s: names that begin with SIDING_ are not to be set", cut(name, 64)))
			continue
		}
		if !set {
			var ok bool
			if value, ok = c.LookupEnv(name); !ok {
				errs = append(errs, fmt.Errorf("the environment has no variable %s; set it", cut(name, 64)))
				continue
			}
			if len(value) >= hiddenFrom {
				hidden = append(hidden, value, "["+name+"]")
			}
		}
		if strings.ContainsRune(value, 0) {
			errs = append(errs, fmt.Errorf("%s has a NUL in its value", cut(name, 64)))
		}
		env = append(env, name+"="+value)
	}
	return env, hidden, errors.Join(errs...)
}

// own gives the variables that say which message it is.
func own(d *siding.Delivery) []string {
	text := func(s string) string { return strings.ReplaceAll(s, "\x00", "") }
	return []string{
		"SIDING_EVENT_ID=" + text(d.ID), "SIDING_QUEUE=" + text(d.Queue), fmt.Sprintf("SIDING_ATTEMPT=%d", d.Attempt),
	}
}
