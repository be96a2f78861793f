package claudesim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// sockets are what a Server listens on. While a profile refuses connections, the door is really closed.
type sockets struct {
	changed chan struct{} // a profile changed, or the first call came

	mu      sync.Mutex
	door    *door
	servers []*http.Server
	admin   string
	ctx     context.Context //nolint:containedctx // it is the life of the sockets
	stop    context.CancelFunc
	running sync.WaitGroup // of the loops that accept, and of the door's keeper
	active  int            // requests being served
	closing bool
	idle    *sync.Cond // active is 0
}

func newSockets() *sockets {
	k := &sockets{changed: make(chan struct{}, 1)}
	k.ctx, k.stop = context.WithCancel(context.Background())
	k.idle = sync.NewCond(&k.mu)
	return k
}

// Start makes a Server that listens on a free port of the loopback interface. Close it in the end.
func Start(p *Profile, o Options) (*Server, error) {
	s, err := New(p, o)
	if err != nil {
		return nil, err
	}
	if err := s.Listen("127.0.0.1:0"); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// TB is the part of testing.TB that Serve needs.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// Serve is Start for tests: it fails the test on errors, and closes the Server when the test ends.
func Serve(tb TB, p *Profile) *Server {
	tb.Helper()
	s, err := Start(p, Options{})
	if err != nil {
		tb.Fatalf("starting the simulator: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Fatalf("closing the simulator: %v", err)
		}
	})
	return s
}

// Listen begins to serve the API and the controls on an address, and returns. A host that is left out is the loopback
// interface: the simulator checks no rights, so that other interfaces have to be named. It can be called once.
func (s *Server) Listen(addr string) error {
	k := s.sockets
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.door != nil {
		return fmt.Errorf("simulator: already listening on %s", k.door.addr)
	}
	d, err := openDoor(onLoopback(addr))
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	k.door = d
	srv := k.serve(d, s)
	k.running.Go(func() { s.keepDoor(k.ctx, d, srv) })
	return nil
}

// ListenAdmin serves the controls under /sim/ on an address of their own, which stays open while the profile refuses
// connections. It can be called once.
func (s *Server) ListenAdmin(addr string) error {
	k := s.sockets
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.admin != "" {
		return fmt.Errorf("simulator: the controls are on %s already", k.admin)
	}
	l, err := net.Listen("tcp", onLoopback(addr))
	if err != nil {
		return fmt.Errorf("simulator: %w", err)
	}
	k.admin = l.Addr().String()
	k.serve(l, s.admin)
	return nil
}

// serve serves a listener until close.
func (k *sockets) serve(l net.Listener, h http.Handler) *http.Server {
	counted := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !k.enter() {
			panic(http.ErrAbortHandler)
		}
		defer k.leave()
		h.ServeHTTP(w, r)
	})
	srv := &http.Server{Handler: counted, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return k.ctx }}
	k.servers = append(k.servers, srv)
	k.running.Go(func() { _ = srv.Serve(l) }) // it always ends with an error, after close
	return srv
}

func (k *sockets) enter() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return false
	}
	k.active++
	return true
}

func (k *sockets) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.active--; k.active == 0 {
		k.idle.Broadcast()
	}
}

func (k *sockets) wake() {
	select {
	case k.changed <- struct{}{}:
	default: // the news is out already
	}
}

// close ends the listeners and waits for the requests, whose contexts it ends.
func (k *sockets) close() {
	k.mu.Lock()
	k.closing = true
	k.stop()
	servers := k.servers
	k.mu.Unlock()
	for _, srv := range servers {
		_ = srv.Close()
	}
	k.running.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.active > 0 {
		k.idle.Wait()
	}
}

// URL is where the API is served, without a slash at the end; empty before Listen.
func (s *Server) URL() string {
	s.sockets.mu.Lock()
	defer s.sockets.mu.Unlock()
	if s.sockets.door == nil {
		return ""
	}
	return "http://" + s.sockets.door.addr
}

// AdminURL is where ListenAdmin serves the controls; without it, the same as URL.
func (s *Server) AdminURL() string {
	s.sockets.mu.Lock()
	admin := s.sockets.admin
	s.sockets.mu.Unlock()
	if admin == "" {
		return s.URL()
	}
	return "http://" + admin
}

func onLoopback(addr string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}
