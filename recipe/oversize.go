package recipe

import (
	"errors"
	"path/filepath"

	"github.com/siding-dev/siding"
)

// then reads where results go back to.
func (d *document) then(r *Recipe) {
	to := siding.Then{Queue: d.queueName("then.queue"), Field: d.pointer("then.field")}
	if !d.has("then") {
		return
	}
	if d.missing("then.queue") {
		d.failKey("then.queue", "then.queue is missing; name the queue of the records that results go back to")
	}
	if d.missing("then.field") {
		d.failKey("then.field", "then.field is missing; name the field that the result takes the place of, for instance /description")
	}
	if to.Queue != "" && to.Queue == r.Queue {
		d.failKey("then.queue", "then.queue is this recipe's own queue; name the queue of the records that are sent here")
	}
	r.Then = &to
}

// oversize reads what happens to records that are too large. No way may lead back to where a record came from: not in this
// recipe, and not by those that it names.
func (d *document) oversize(r *Recipe, dir string, way []*Recipe) {
	n := d.nodes["preflight.oversize"]
	if n == nil || nodeKind(n) != "a group of keys" {
		d.choice("preflight.oversize", "dead")
		return
	}
	r.Oversize = d.queueName("preflight.oversize.queue")
	ring := func(format string, args ...any) { d.failKey("preflight.oversize.queue", format, args...) }
	switch {
	case d.missing("preflight.oversize.queue"):
		ring("preflight.oversize.queue is missing; name the queue that too large records go to")
	case r.Oversize == "":
	case r.Oversize == r.Queue:
		ring("preflight.oversize.queue is this recipe's own queue: a record would go round for ever; name another queue")
	case r.Then != nil && r.Oversize == r.Then.Queue:
		ring("preflight.oversize.queue is the queue that the results go back to: a record would go round for ever; name another queue")
	default:
		for _, before := range way {
			if r.Oversize == before.Queue {
				ring("preflight.oversize.queue leads back to %s, whose too large records come here by way of %s: they would go round for ever",
					show(before.Queue), show(way[0].Name))
				return
			}
		}
		d.side(r, dir, way)
	}
}

// side reads the recipe of the queue that too large records go to.
func (d *document) side(r *Recipe, dir string, way []*Recipe) {
	const key = "preflight.oversize.recipe"
	path := d.path(key, dir)
	if path == "" {
		return
	}
	for _, before := range append(way, r) {
		if sameFile(before.Name, path) {
			d.failKey(key, "%s leads back to %s; name the recipe of the queue %s", key, show(before.Name), show(r.Oversize))
			return
		}
	}
	src, err := readFile(path, maxRecipe+1)
	if err != nil {
		d.failKey(key, "%s: %s: %w", key, show(path), err)
		return
	}
	side, err := parse(path, src, filepath.Dir(path), append(way, r))
	var faults Errors
	switch {
	case errors.As(err, &faults):
		d.errs = append(d.errs, faults...)
	case side.Queue != r.Oversize:
		d.failKey(key, "%s: %s is a recipe of the queue %s, and too large records go to %s; let them be the same", key, show(path), show(side.Queue), show(r.Oversize))
	case side.Then == nil:
		d.failKey(key, "%s: %s has no then, so that its results would not come back; give it then: {queue: %s, field: ...}", key, show(path), show(r.Queue))
	case side.Then.Queue != r.Queue:
		d.failKey(key, "%s: the results of %s go to %s; let its then.queue be %s", key, show(path), show(side.Then.Queue), show(r.Queue))
	default:
		r.Side = side
	}
}

// sameFile tells whether two names are of one file, as far as names can tell.
func sameFile(a, b string) bool {
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}
