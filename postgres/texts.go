package postgres

import (
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// texts turns the statements of this package into those that are sent. Tables and functions stand in them without their
// schema, which a store has a choice of, and which no setting of a session may tell: behind a pooler a session is
// anybody's. Parameters are ?N, or ?, which is the
// one after the largest before it.
type texts struct {
	schema string
	sent   sync.Map // string → string
}

var ownNames = regexp.MustCompile(`\b(FROM|JOIN|INTO|UPDATE|ONLY|INDEX|TABLE)(\s+)(meta|queues|messages|bodies|pending_bodies|results|` +
	`last_errors|deliveries|revisions|calls|answers|spend|spend_totals|tallies|copies|failure_groups|audit|notes|campaigns|campaign_members|inputs|files|members|origins|processes|` +
	`gates|clock_last|clock_offset)\b|\b(tick|peek)\(`)

func (t *texts) of(query string) string {
	if s, ok := t.sent.Load(query); ok {
		return s.(string) //nolint:forcetypeassert // nothing else is stored
	}
	s := placeholders(t.qualify(query))
	t.sent.Store(query, s)
	return s
}

func (t *texts) qualify(query string) string {
	own := pgx.Identifier{t.schema}.Sanitize() + "."
	return ownNames.ReplaceAllStringFunc(query, func(found string) string {
		at := strings.LastIndexAny(found, " \t\n") + 1 // 0 for a function
		return found[:at] + own + found[at:]
	})
}

// placeholders writes parameters as PostgreSQL has them.
func placeholders(query string) string {
	var b strings.Builder
	n, quoted := 0, false
	for i := range len(query) {
		switch c := query[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c == '?' && !quoted:
			b.WriteByte('$')
			if i+1 < len(query) && query[i+1] >= '1' && query[i+1] <= '9' {
				n = max(n, int(query[i+1]-'0')) // it brings its number, of one digit
				continue
			}
			n++
			b.WriteString(strconv.Itoa(n))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
