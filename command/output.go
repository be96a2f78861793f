package command

import "fmt"

// A result takes what a program writes on standard output, up to a limit. What is above is dropped, so that the program
// does not stand still until it is stopped.
type result struct {
	text  []byte
	limit int64
	over  func() // called once, when there is too much
	more  bool
}

func (r *result) Write(p []byte) (int, error) {
	room := r.limit - int64(len(r.text))
	r.text = append(r.text, p[:min(int64(len(p)), room)]...)
	if int64(len(p)) > room && !r.more {
		r.more = true
		r.over()
	}
	return len(p), nil
}

// The bounds of what is kept of standard error, in bytes: how it began, and how it ended, which often says most.
const (
	headKept = 1 << 10
	tailKept = 3 << 10
)

// A tail takes what a program writes on standard error, and keeps its beginning and its end.
type tail struct {
	head, end []byte
	dropped   int64
}

func (t *tail) Write(p []byte) (int, error) {
	n := min(len(p), headKept-len(t.head))
	t.head = append(t.head, p[:n]...)
	rest := p[n:]
	if extra := len(rest) - tailKept; extra > 0 {
		t.dropped += int64(extra)
		rest = rest[extra:]
	}
	t.end = append(t.end, rest...)
	if extra := len(t.end) - tailKept; extra > 0 {
		t.dropped += int64(extra)
		t.end = append(t.end[:0], t.end[extra:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	if t.dropped > 0 {
		return fmt.Sprintf("%s\n… %d bytes left out …\n%s", t.head, t.dropped, t.end)
	}
	return string(t.head) + string(t.end)
}
