package worker

// window bounds how many calls are in flight, where a lane is watched. It opens with successes, and closes with
// refusals and rests:
//
//   - It begins small, and after each rest of the lane with a single call. Each success doubles it, up to its ceiling.
//   - A refusal lowers the ceiling to a share of what was in flight; above it the window grows by one for each whole
//     window of successes.
type window struct {
	on      bool
	most    float64 // calls: the configured concurrency
	size    float64
	ceiling float64
	since   int64 // calls with this number or a lower one began before the latest rest, and are not counted
}

const (
	firstWindow = 8
	windowCut   = 0.7
)

func newWindow(cfg Config) window {
	most := float64(cfg.Concurrency)
	return window{on: cfg.Gates.Lane.Name != "", most: most, size: min(most, firstWindow), ceiling: most}
}

// room is how many calls may begin; inFlight counts those with a number above a given one.
func (w *window) room(free int, inFlight func(above int64) int) int {
	if !w.on || w.size >= w.most {
		return free
	}
	return max(0, min(free, int(w.size)-inFlight(w.since)))
}

// rest begins the slow start anew: whatever begins from now on has a higher number than begun.
func (w *window) rest(begun int64) { w.size, w.since = 1, begun }

// served takes in that the service has worked for a call.
func (w *window) served(number int64) {
	switch {
	case number <= w.since:
	case w.size < w.ceiling:
		w.size = min(2*w.size, w.ceiling)
	default:
		w.size = min(w.size+1/w.size, w.most)
		w.ceiling = w.size
	}
}

// refused takes in that the service had no room for a call while so many were in flight, it among them. One from
// before the latest rest says nothing new.
func (w *window) refused(number int64, inFlight int) {
	if number > w.since {
		w.ceiling = max(1, min(w.ceiling, float64(inFlight))*windowCut)
	}
}
