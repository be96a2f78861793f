package recipe

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claude"
	"github.com/siding-dev/siding/command"
	"github.com/siding-dev/siding/webhook"
)

// Recipe is a recipe that has been read and found sound.
type Recipe struct {
	// Name is the file as the user named it.
	Name string
	// Queue is the queue of its messages.
	Queue string
	// IDPointer is the JSON Pointer to a record's event ID; empty: records have none of their own.
	IDPointer string
	// Concurrency is how many messages are worked on at once.
	Concurrency int
	// Then says where results go back to; nil: nowhere.
	Then *siding.Then
	// Oversize is the queue to which records go that are too large; empty: they are set aside.
	Oversize string
	// Side is the recipe of that queue, where this one names it; nil: none. It may have one in its turn.
	Side *Recipe

	policy siding.Policy
	digest string
	// Exactly one of these is set: what is done with a record.
	claude  *claude.Config
	webhook *webhook.Config
	command *command.Config

	alert alertGroup
}

// Load reads a recipe file. The error is an [Errors], unless the file cannot be read.
func Load(path string) (*Recipe, error) {
	src, err := readFile(path, maxRecipe+1)
	if err != nil {
		return nil, &Error{File: path, Err: err}
	}
	return Parse(path, src, filepath.Dir(path))
}

// Parse reads a recipe from memory. name is what errors call it; the files that it names are relative to dir. The error
// is an [Errors].
func Parse(name string, src []byte, dir string) (*Recipe, error) {
	return parse(name, src, dir, nil)
}

// parse reads a recipe that those of way have led to, each the side recipe of the one before.
func parse(name string, src []byte, dir string, way []*Recipe) (*Recipe, error) {
	d := readDocument(name, src)
	if len(d.nodes) == 0 { // not a recipe at all
		if len(d.errs) == 0 {
			d.failAt(0, 0, "the recipe is empty")
		}
		return nil, d.errs
	}
	r := &Recipe{Name: name}
	d.version()
	r.Queue = d.queue()
	r.IDPointer = d.pointer("input.id")
	r.Concurrency = int(d.integer("concurrency", 1, 1000, 8))
	r.policy = d.policy()
	d.unsupported()
	d.then(r)
	d.oversize(r, dir, way)
	d.handler(r, dir)
	r.alert = d.alert(dir)
	if len(d.errs) > 0 {
		d.errs.sort()
		return nil, d.errs
	}
	return r, nil
}

// Policy gives how often messages are tried. It is valid.
func (r *Recipe) Policy() siding.Policy { return r.policy }

// Digest gives the recipe digest: a hash of what shapes the request and the acceptance of its answer. Queue, retries and
// concurrency are not in it.
func (r *Recipe) Digest() string { return r.digest }

func (d *document) version() {
	switch v := d.integer("version", 1, math.MaxInt64, 0); {
	case d.missing("version"):
		d.failKey("version", "version is missing; begin the recipe with version: 1")
	case v > 1:
		d.failKey("version", "the recipe is of version %d, and this program reads version 1; use a newer program", v)
	}
}

// queue gives the queue's name.
func (d *document) queue() string {
	if d.missing("queue") {
		d.failKey("queue", "queue is missing; name the queue of the messages, for instance queue: tag-jobs")
	}
	return d.queueName("queue")
}

// queueName gives the name of a queue.
func (d *document) queueName(path string) string {
	name := d.text(path, "")
	if n := d.nodes[path]; n != nil && nodeKind(n) == "a text" {
		if err := checkQueue(name); err != nil {
			d.failKey(path, "%w", err)
		}
	}
	return name
}

func checkQueue(name string) error {
	if len(name) < 1 || len(name) > 128 {
		return fmt.Errorf("the queue's name has %d letters; it must have 1 to 128", len(name))
	}
	for _, c := range name {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("-_.", c) {
			return fmt.Errorf("the queue's name is %q; it may have letters, digits, dots, - and _", show(name))
		}
	}
	return nil
}

// policy reads the group retry and on_unknown. What is out of bounds, the policy itself says.
func (d *document) policy() siding.Policy {
	p := siding.DefaultPolicy()
	b := &p.Backoff
	p.MaxRetries = int(d.integer("retry.max_retries", 0, 1_000_000, int64(p.MaxRetries)))
	p.GrayRetries = int(d.integer("retry.gray_retries", 0, 1_000_000, int64(p.GrayRetries)))
	b.Base, b.Cap = d.duration("retry.base", b.Base), d.duration("retry.cap", b.Cap)
	b.Factor, b.Jitter = d.number("retry.factor", b.Factor), d.number("retry.jitter", b.Jitter)
	p.OnUnknown = siding.OnUnknown(d.choice("on_unknown", string(siding.UnknownResend), string(siding.UnknownQuarantine)))
	for _, c := range d.list("retry.gray") {
		if !slices.Contains(siding.Causes(), siding.Cause(c)) {
			d.failKey("retry.gray", "retry.gray lists %q, which is not a cause; %s", show(c), suggest(c, words(siding.Causes())))
			continue
		}
		p.Gray = append(p.Gray, siding.Cause(c))
	}
	for _, err := range parts(p.Validate()) {
		name, _, _ := strings.Cut(err.Error(), " ")
		d.failKey("retry."+name, "retry.%w", err)
	}
	return p
}

func words[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, each := range list {
		out[i] = string(each)
	}
	return out
}

// unsupported looks into what this version refuses, so that all that is wrong shows at once.
func (d *document) unsupported() {
	if d.text("claude.mode", "message") == "batch" {
		d.failKey("claude.mode", "claude.mode: batch is %s; write message", notYet)
	} else {
		d.choice("claude.mode", "message")
	}
}

// parts gives the errors that one was joined from. What stands before a joined one, such as the name of a field, stands
// before each.
func parts(err error) []error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, each := range joined.Unwrap() {
			all = append(all, parts(each)...)
		}
		return all
	}
	inner := errors.Unwrap(err)
	if inner == nil {
		return []error{err}
	}
	prefix, ok := strings.CutSuffix(err.Error(), inner.Error())
	within := parts(inner)
	if !ok || len(within) == 0 {
		return []error{err}
	}
	for i, each := range within {
		within[i] = fmt.Errorf("%s%w", prefix, each)
	}
	return within
}

// readFile reads a file of at most n bytes; of a longer one, as much.
func readFile(path string, n int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, plain(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, plain(err)
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory, and a file is needed")
	}
	src, err := io.ReadAll(io.LimitReader(f, n))
	if err != nil {
		return nil, plain(err)
	}
	return src, nil
}

// plain gives a file's error without the name, which the text around it has.
func plain(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("%s: %w", path.Op, path.Err)
	}
	return err
}
