package quarantine

// edit replaces bytes of a body.
type edit struct {
	from, to int
	with     string
}

// splice makes a body in which edits, in their order, are done; everything else keeps its bytes.
func splice(body []byte, edits ...edit) []byte {
	w := rewriter{b: body}
	for _, e := range edits {
		w.replace(e.from, e.to, e.with)
	}
	return w.result()
}

// rewriter copies a body from its beginning to its end, and replaces bytes on the way.
type rewriter struct {
	b, out  []byte
	done    int // how much of b has been copied, or replaced
	changed bool
}

// replace puts something in the place of the bytes between from and to, which have not been copied yet.
func (w *rewriter) replace(from, to int, with string) {
	if !w.changed {
		w.out = make([]byte, 0, len(w.b)+len(with))
	}
	w.out = append(append(w.out, w.b[w.done:from]...), with...)
	w.done, w.changed = to, true
}

// written gives where in the result the byte at i will stand, which has not been copied yet.
func (w *rewriter) written(i int) int { return len(w.out) + i - w.done }

// result copies what is left. Where nothing was replaced it is the body itself.
func (w *rewriter) result() []byte {
	if !w.changed {
		return w.b
	}
	w.out = append(w.out, w.b[w.done:]...)
	w.done = len(w.b)
	return w.out
}
