package claudesim

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"
)

// Options are what a Server needs besides its profile. The zero value is ready for use.
type Options struct {
	// Clock tells the time. Default time.Now, which a testing/synctest bubble replaces by its own; make the Server
	// inside the bubble then.
	Clock func() time.Time
	// Sleep waits, or returns the context's error when that ends first. Default: a timer. Set it together with Clock
	// when time is driven by hand; the largest duration then means until the context ends.
	Sleep func(ctx context.Context, d time.Duration) error
	// MeterFile is where calls and bills are appended as JSON Lines. What it holds already is counted on. Default: none.
	MeterFile string
	// KeepCalls is how many of the last calls the log keeps in memory. Default 100,000; negative: none.
	KeepCalls int
}

// A Server is the simulated service. It is safe for concurrent use.
type Server struct {
	now   func() time.Time
	sleep func(context.Context, time.Duration) error
	meter *meter
	admin http.Handler

	mu       sync.Mutex
	plan     *plan
	started  time.Time
	first    time.Time // the first call under this profile
	buckets  map[string]*buckets
	ordinals map[string]int64 // by request hash
	inWork   int
	cache    promptCache
	paused   map[string]bool // texts of answers that were paused, which a caller may send back

	sockets *sockets
}

// New makes a Server with a profile; nil is the zero Profile, without faults, limits or delays. The error is a
// *ProfileError, or says why the meter file could not be opened.
func New(p *Profile, o Options) (*Server, error) {
	pl, err := newPlan(p)
	if err != nil {
		return nil, err
	}
	keep := max(0, cmp.Or(o.KeepCalls, 100_000))
	s := &Server{now: o.Clock, sleep: o.Sleep, meter: newMeter(keep, nil), ordinals: map[string]int64{}, cache: promptCache{}, paused: map[string]bool{}, sockets: newSockets()}
	if s.now == nil {
		s.now = time.Now
	}
	if s.sleep == nil {
		s.sleep = sleepTimer
	}
	if o.MeterFile != "" {
		if err := openMeterFile(o.MeterFile, s.meter); err != nil {
			return nil, err
		}
		for key, row := range s.meter.rows {
			s.ordinals[key.hash] = max(s.ordinals[key.hash], row.ordinal)
		}
	}
	s.admin = s.adminHandler()
	s.use(pl)
	return s, nil
}

// use puts a plan in force: its windows, counters and buckets begin now. The meter goes on.
func (s *Server) use(pl *plan) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan, s.started, s.first, s.buckets = pl, s.now(), time.Time{}, map[string]*buckets{}
}

// SetProfile changes how the service behaves from the next call on. Windows of time, counters of rules and buckets
// begin anew; the meter and the count of calls by their bytes go on. The error is a *ProfileError, and then nothing
// has changed.
func (s *Server) SetProfile(p *Profile) error {
	pl, err := newPlan(p)
	if err != nil {
		return err
	}
	s.use(pl)
	s.sockets.wake()
	return nil
}

// Profile is the profile in force, with what it extends filled in.
func (s *Server) Profile() Profile {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.profile
}

// Meter returns what has been counted so far.
func (s *Server) Meter() Meter { return s.meter.snapshot() }

// Calls returns the log of calls that have ended, oldest first, the last KeepCalls of them.
func (s *Server) Calls() []Call { return s.meter.log() }

// Reset forgets everything that was counted, the prompts that were cached, and how often each request came.
// The profile's windows, counters and buckets begin anew.
func (s *Server) Reset() {
	s.meter.reset()
	s.mu.Lock()
	clear(s.ordinals)
	clear(s.cache)
	clear(s.paused)
	profile := s.plan.profile
	s.mu.Unlock()
	profile.Extends = "" // it is filled in already
	if pl, err := newPlan(&profile); err == nil {
		s.use(pl)
		s.sockets.wake()
	}
}

func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inWork--
}

// remember keeps a prompt in the cache once it has been processed.
func (s *Server) remember(q *request, now time.Time) {
	if q.cached == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cache.keep(q, now)
}

// Close stops listening, ends what is under way, and closes the meter file. The error says whether everything that
// was counted is in the file.
func (s *Server) Close() error {
	s.sockets.close()
	s.meter.mu.Lock()
	defer s.meter.mu.Unlock()
	err := s.meter.file.close()
	s.meter.file = nil
	return err
}
