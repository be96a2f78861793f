package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"os/user"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/siding-dev/siding"
)

// acting makes what cmd does one act of an operator: the store keeps who did it, when, what and to how many messages.
func (a *app) acting(cmd *cobra.Command) { cmd.SetContext(a.act(cmd.Context(), a.actText)) }

// act begins an act, in the words of a command line.
func (a *app) act(ctx context.Context, text string) context.Context {
	return siding.WithAct(ctx, siding.Act{ID: rand.Text(), By: a.operatorName(), Text: text})
}

// actOn makes what is done to one queue an act of its own, so that the audit trail of each queue has it.
func actOn(ctx context.Context, queue string) context.Context {
	act := siding.ActOf(ctx)
	name := sha256.Sum256([]byte(queue)) // the names of queues are longer than what is kept of an ID
	act.ID += fmt.Sprintf("/%x", name[:8])
	return siding.WithAct(ctx, act)
}

// operatorName says who is at it: --as, else SIDING_OPERATOR, else the user of the process and its machine.
func (a *app) operatorName() string {
	if name := strings.TrimSpace(cmp.Or(a.as, a.env["SIDING_OPERATOR"])); name != "" {
		return name
	}
	name := cmp.Or(a.env["USER"], a.env["LOGNAME"])
	if u, err := user.Current(); err == nil && u.Username != "" {
		name = u.Username
	}
	host, _ := os.Hostname()
	return cmp.Or(name, "somebody") + "@" + cmp.Or(host, "somewhere")
}

// Flags whose values are not repeated in the audit trail: an address may hold a password, a header a credential.
var (
	hiddenFlags = map[string]bool{"--store": true, "--as": true}
	headerFlags = map[string]bool{"--set-header": true}
)

// secretParts are parts of a word that may be a credential, wherever they stand.
var secretParts = []*regexp.Regexp{
	regexp.MustCompile(`://[^/@\s]*@`),
	regexp.MustCompile(`sk-[A-Za-z0-9_-]{8,}`),
	regexp.MustCompile(`(?i)(?:bearer|basic)\s+\S+`),
	regexp.MustCompile(`(?i)(?:api[-_]?key|(?:access|auth|refresh)[-_]?token|\btoken|secret|passw(?:or)?d|authorization)["']?\s*[=:]\s*\S+`),
}

const hidden = "…"

// actText gives a command line for the audit trail, as a shell would take it, without what may be a secret.
func actText(args []string) string {
	words := []string{"siding"}
	hide := false     // the value of the flag before
	inHeader := false // it is a header's name and value
	for _, arg := range args {
		name, value, hasValue := strings.Cut(arg, "=")
		switch {
		case hide:
			hide = false
			continue
		case inHeader:
			inHeader = false
			arg = headerName(arg)
		case hiddenFlags[name]:
			hide = !hasValue
			continue
		case headerFlags[name]:
			if inHeader = !hasValue; hasValue {
				arg = name + "=" + headerName(value)
			}
		}
		words = append(words, shellQuote(withoutSecrets(arg)))
	}
	return siding.Scrub(strings.Join(words, " "), siding.MaxHeader)
}

func headerName(header string) string {
	name, _, _ := strings.Cut(header, "=")
	return name + "=" + hidden
}

func withoutSecrets(text string) string {
	for _, part := range secretParts {
		text = part.ReplaceAllString(text, hidden)
	}
	return text
}
