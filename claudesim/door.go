package claudesim

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A door is a listener that can be closed for a while: the port then refuses connections as if nothing ran there, and
// is opened again at the same address.
type door struct {
	addr string

	mu     sync.Mutex
	inner  net.Listener // nil while it is shut
	opened chan struct{}
	closed bool
}

func openDoor(addr string) (*door, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	d := &door{addr: l.Addr().String(), inner: l, opened: make(chan struct{})}
	close(d.opened)
	return d, nil
}

// Accept waits for a connection, and through the times in which the door is shut.
func (d *door) Accept() (net.Conn, error) {
	for {
		d.mu.Lock()
		inner, opened, closed := d.inner, d.opened, d.closed
		d.mu.Unlock()
		if closed {
			return nil, net.ErrClosed
		}
		if inner == nil {
			<-opened
			continue
		}
		conn, err := inner.Accept()
		if err == nil {
			return conn, nil
		}
		d.mu.Lock()
		same := d.inner == inner && !d.closed
		d.mu.Unlock()
		if same {
			return nil, err
		}
	}
}

// Close closes the door for good.
func (d *door) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	if d.inner == nil {
		close(d.opened)
		return nil
	}
	return d.inner.Close()
}

// Addr is where the door is, shut or open.
func (d *door) Addr() net.Addr { return address(d.addr) }

// shut closes the port. Connections that were accepted before go on.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner == nil || d.closed {
		return
	}
	_ = d.inner.Close()
	d.inner, d.opened = nil, make(chan struct{})
}

// open opens the port again. It fails while somebody else has taken it.
func (d *door) open() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inner != nil || d.closed {
		return nil
	}
	l, err := net.Listen("tcp", d.addr)
	if err != nil {
		return err
	}
	d.inner = l
	close(d.opened)
	return nil
}

// keepDoor shuts and opens the door as the profile says, until ctx ends.
func (s *Server) keepDoor(ctx context.Context, d *door, srv *http.Server) {
	for {
		refusing, wait := s.refusal()
		if refusing {
			d.shut()
			srv.SetKeepAlivesEnabled(false) // idle connections are closed too
		} else {
			srv.SetKeepAlivesEnabled(true)
			if d.open() != nil {
				wait = min(wait, 50*time.Millisecond) // the port is taken just now
			}
		}
		napping, wakeUp := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = s.sleep(napping, wait)
		}()
		select {
		case <-ctx.Done():
		case <-s.sockets.changed:
		case <-done:
		}
		wakeUp()
		<-done
		if ctx.Err() != nil {
			return
		}
	}
}

// refusal says whether the door should be shut now, and how long that stays true.
func (s *Server) refusal() (refusing bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	wait = forever
	for _, r := range s.plan.rules {
		if r.Do.Fault != faultRefuse || !r.onlyWindow() {
			continue
		}
		t := now.Sub(s.started)
		if r.When.Since == sinceFirst {
			if s.first.IsZero() {
				continue
			}
			t = now.Sub(s.first)
		}
		refusing = refusing || t >= r.When.From && (r.When.Until == 0 || t < r.When.Until)
		for _, edge := range []time.Duration{r.When.From, r.When.Until} {
			if edge > t {
				wait = min(wait, edge-t)
			}
		}
	}
	return refusing, wait
}
