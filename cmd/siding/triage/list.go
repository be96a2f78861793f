package triage

// list is the place in a list that is longer than the screen.
type list struct {
	at  int // the row under the cursor
	top int // the first row that is shown
}

// move puts the cursor by rows, and keeps it within n rows of which high are seen.
func (l *list) move(by, n, high int) { l.jump(l.at+by, n, high) }

// jump puts the cursor on a row.
func (l *list) jump(to, n, high int) {
	l.at = max(0, min(to, n-1))
	high = max(high, 1)
	switch {
	case l.at < l.top:
		l.top = l.at
	case l.at >= l.top+high:
		l.top = l.at - high + 1
	}
	l.top = max(0, min(l.top, n-1))
}

// scroll moves what is seen of n lines, for a text without a cursor.
func (l *list) scroll(by, n, high int) {
	l.top = max(0, min(l.top+by, n-max(high, 1)))
	l.at = l.top
}

// step gives by how many rows a key moves; ok is false for any other key.
func step(key string, n, high int) (by int, ok bool) {
	switch key {
	case "up", "k":
		return -1, true
	case "down", "j":
		return 1, true
	case "pgup", "ctrl+b", "ctrl+u":
		return -max(high-1, 1), true
	case "pgdown", "ctrl+f", "ctrl+d", "space":
		return max(high-1, 1), true
	case "home", "g":
		return -n, true
	case "end", "G":
		return n, true
	}
	return 0, false
}
