package postgres

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net"
	"net/url"
	"regexp"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/siding-dev/siding"
)

// address is where a store is.
type address struct {
	config *pgxpool.Config
	schema string
	shown  string // as a URL, without secrets
	class  int32  // the first number of the store's advisory locks, which all stores of a database share
}

// schemaName is what a name looks like that needs no quotes anywhere.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// parse reads a connection string: a URL or the form key=value of libpq. A URL may have the parameter schema. What is
// wrong with one is told without repeating it, because it may hold a password.
func parse(text string, o Options) (address, error) {
	schema := o.Schema
	if u, err := url.Parse(text); err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") {
		q := u.Query()
		schema = cmp.Or(schema, q.Get("schema"))
		q.Del("schema")
		u.RawQuery = q.Encode()
		text = u.String()
	}
	a := address{schema: cmp.Or(schema, DefaultSchema)}
	if !schemaName.MatchString(a.schema) {
		return a, misplaced("the schema's name %q cannot be used: it is made of 1 to 63 small letters, digits and _, and begins with no digit",
			siding.Scrub(a.schema, 64))
	}
	var err error
	if a.config, err = pgxpool.ParseConfig(text); err != nil {
		return a, misplaced("the address of the database cannot be read: %w", err) // pgx leaves the password out
	}
	c := a.config.ConnConfig
	if c.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return a, misplaced("the address asks for default_query_exec_mode=simple_protocol, in which bytes are not kept exactly; behind a pooler use cache_describe")
	}
	if _, ok := c.RuntimeParams["application_name"]; !ok {
		c.RuntimeParams["application_name"] = "siding"
	}
	a.config.MaxConns = int32(o.Conns)
	a.config.MinConns = 0
	a.shown = show(c, a.schema)
	h := fnv.New32a()
	_, _ = h.Write([]byte("siding store " + a.schema))
	a.class = int32(h.Sum32())
	return a, nil
}

// show writes where a connection goes.
func show(c *pgx.ConnConfig, schema string) string {
	u := url.URL{Scheme: "postgres", User: url.User(c.User), Path: "/" + c.Database}
	q := url.Values{}
	if host := c.Host; host != "" && host[0] == '/' {
		q.Set("host", host)
		q.Set("port", strconv.Itoa(int(c.Port)))
	} else {
		u.Host = net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	}
	if schema != DefaultSchema {
		q.Set("schema", schema)
	}
	u.RawQuery = q.Encode()
	return siding.Scrub(u.String(), siding.MaxHeader)
}

// lockOf gives the second number of the lock of a name among the store's advisory locks. Names that share one wait for
// each other, which harms nobody.
func lockOf(name string) int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return int32(h.Sum32() | 1<<31) // negative: the small numbers are taken
}

// The locks of a store that have numbers of their own. clockLock stands in the function tick, too.
const (
	writeLock   = 0 // held by each write: shared, or alone by one that concerns much
	clockLock   = 1
	migrateLock = 2
)

func (a address) String() string { return fmt.Sprintf("%s (schema %s)", a.shown, a.schema) }
