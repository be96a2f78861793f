package quarantine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/siding-dev/siding"
)

// commandLimit bounds how long a command may take for one message, and commandGrace how long what it has started may
// hold on to its output after that.
const (
	commandLimit = time.Minute
	commandGrace = time.Second
)

// command replaces the body by what a program makes of it.
type command struct {
	text string
	argv []string
}

func newCommand(text string) (Repair, error) {
	argv, err := splitWords(text)
	if err != nil {
		return nil, err
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("give a program and its arguments, for instance command:iconv -f latin1 -t utf-8")
	}
	return command{strings.TrimSpace(text), argv}, nil
}

// splitWords takes a command line apart as a shell does, as far as quotes and backslashes go; nothing else means
// anything.
func splitWords(text string) (list []string, err error) {
	if strings.ContainsRune(text, 0) {
		return nil, errors.New("it has a NUL in it, and no program can be given that")
	}
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				word.WriteByte('\\') // in double quotes it escapes nothing else
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				list = append(list, word.String())
				word.Reset()
			}
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, fmt.Errorf("a quotation that begins with %c does not end", quote)
	case escaped:
		return nil, errors.New("it ends in a backslash that escapes nothing")
	case inWord:
		list = append(list, word.String())
	}
	return list, nil
}

func (r command) String() string { return nameCommand + ":" + r.text }

// Apply runs the program without a shell, with the body on standard input, and takes what it writes as the new body.
func (r command) Apply(ctx context.Context, d Draft) (Draft, error) {
	limited, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	stdout, stderr := &bounded{most: maxResult, over: cancel}, &bounded{most: 4 << 10}
	cmd := exec.CommandContext(limited, r.argv[0], r.argv[1:]...) //nolint:gosec // running what the user names is what this is for
	cmd.Env = commandEnvironment()
	cmd.Stdin = bytes.NewReader(d.Body)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = commandGrace
	group(cmd)
	err := cmd.Run()
	if cmd.Process != nil {
		killGroup(cmd) // what the program has left behind
	}
	if errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success() {
		err = nil // it is done; only a child still held on to its output
	}
	switch {
	case stdout.more:
		return d, fmt.Errorf("the program wrote more than %d bytes and was stopped", maxResult)
	case ctx.Err() != nil:
		return d, ctx.Err()
	case limited.Err() != nil:
		return d, fmt.Errorf("the program took more than %v and was stopped", commandLimit)
	case err != nil:
		if said := strings.TrimSpace(string(stderr.text)); said != "" {
			err = fmt.Errorf("%w: %s", err, siding.Scrub(said, 1<<10))
		}
		return d, fmt.Errorf("the program failed: %w", err)
	}
	d.Body = stdout.text
	if d.Body == nil {
		d.Body = []byte{}
	}
	return d, nil
}

// handedOn are the variables that a command gets: what it needs to find its files and its language, and no key.
var handedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"SYSTEMROOT", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", // Windows
}

func commandEnvironment() []string {
	env := []string{} // nil would hand on everything
	for _, name := range handedOn {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// bounded keeps the beginning of what is written, and says when there is more.
type bounded struct {
	text []byte
	most int
	more bool
	over func()
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), b.most-len(b.text))
	b.text = append(b.text, p[:keep]...)
	if keep < len(p) && !b.more {
		b.more = true
		if b.over != nil {
			b.over()
		}
	}
	return len(p), nil
}
