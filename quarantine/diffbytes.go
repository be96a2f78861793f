package quarantine

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How far the comparison of bytes looks for the place from which on two bodies are alike again, and how many bytes must
// be alike there.
const (
	resyncWithin = 256
	resyncBytes  = 8
)

// places compares two bodies byte by byte.
func (d *Diff) places(a, b []byte) {
	end := commonEnd(a, b, 0)
	line, counted := int64(1), 0
	for i, j := 0, 0; ; {
		n := commonBegin(a[i:], b[j:])
		i, j = i+n, j+n
		if i >= len(a)-end && j >= len(b)-end {
			return
		}
		skipA, skipB, found := resync(a[i:], b[j:])
		if !found || len(d.Changes) == maxChanges-1 { // the rest is one change
			skipA, skipB = max(len(a)-end-i, 0), max(len(b)-end-j, 0)
		}
		line += int64(bytes.Count(a[counted:i], []byte("\n")))
		counted = i
		at := int64(i)
		old, now := around(a, i, i+skipA), around(b, j, j+skipB)
		d.add(Change{Offset: &at, Line: line, Old: &old, New: &now})
		if d.full() {
			return
		}
		i, j = i+skipA, j+skipB
	}
}

// resync looks for the nearest place from which on a and b are alike again.
func resync(a, b []byte) (skipA, skipB int, found bool) {
	for sum := 1; sum <= resyncWithin; sum++ {
		for skipA = range sum + 1 {
			skipB = sum - skipA
			if skipA > len(a) || skipB > len(b) {
				continue
			}
			x, y := a[skipA:], b[skipB:]
			if len(x) == len(y) && len(x) < resyncBytes && bytes.Equal(x, y) ||
				len(x) >= resyncBytes && len(y) >= resyncBytes && bytes.Equal(x[:resyncBytes], y[:resyncBytes]) {
				return skipA, skipB, true
			}
		}
	}
	return 0, 0, false
}

func commonBegin(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// commonEnd gives how many bytes at the end are alike, without the first from.
func commonEnd(a, b []byte, from int) int {
	n := 0
	for n < min(len(a), len(b))-from && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	return n
}

// How much of a text is shown, in bytes: in front of what differs, behind it, and of it.
const (
	shownAround = 40
	shownBegin  = 160
	shownEnd    = 60
)

// sides shows two values with what differs between them.
func sides(old, now []byte) (a, b Side) {
	from := commonBegin(old, now)
	end := commonEnd(old, now, from)
	a, b = around(old, from, len(old)-end), around(now, from, len(now)-end)
	a.Bytes, b.Bytes = len(old), len(now)
	return a, b
}

// around shows the bytes between from and to with what stands around them.
func around(b []byte, from, to int) Side {
	if at, end := escapeAround(b, from); end > from {
		from = at
	}
	if _, end := escapeAround(b, to); end > to && to > from {
		to = end
	}
	from = runeStart(b, from)
	for to < len(b) && !utf8.RuneStart(b[to]) {
		to++
	}
	s := Side{Bytes: to - from}
	if begin := runeStart(b, from-shownAround); begin > 0 {
		s.Lead = "…" + visible(b[begin:from])
	} else {
		s.Lead = visible(b[:from])
	}
	if end := runeStart(b, to+shownAround); end < len(b) {
		s.Tail = visible(b[to:end]) + "…"
	} else {
		s.Tail = visible(b[to:])
	}
	if to-from <= shownBegin+shownEnd {
		s.Text = visible(b[from:to])
		return s
	}
	head, tail := runeStart(b, from+shownBegin), runeStart(b, to-shownEnd)
	s.Text = fmt.Sprintf("%s … %d bytes … %s", visible(b[from:head]), tail-head, visible(b[tail:to]))
	return s
}

// escapeAround gives where the escape of JSON begins and ends inside of which i lies; 0 and 0: it lies in none.
func escapeAround(b []byte, i int) (at, end int) {
	begin := max(i-5, 0)
	at = begin + bytes.LastIndexByte(b[begin:i], '\\')
	if at < begin {
		return 0, 0
	}
	if n := escapeLength(b[at:]); at+n > i {
		return at, at + n
	}
	return 0, 0
}

// runeStart moves i back to where a character begins, within b.
func runeStart(b []byte, i int) int {
	i = min(max(i, 0), len(b))
	for n := 0; n < utf8.UTFMax && i > 0 && i < len(b) && !utf8.RuneStart(b[i]); n++ {
		i--
	}
	return i
}

// visible shows bytes in one line: what is broken, invisible or acted on by a terminal is written as \xNN or \uNNNN.
func visible(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&s, `\x%02x`, b[0])
		case r == '\n':
			s.WriteString(`\n`)
		case r == '\t':
			s.WriteString(`\t`)
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&s, `\x%02x`, r)
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == '\u2028' || r == '\u2029':
			fmt.Fprintf(&s, `\u%04x`, r)
		default:
			s.Write(b[:n])
		}
		b = b[n:]
	}
	return s.String()
}
