package claude

import (
	"context"
	"sync"
)

// gate keeps new calls from starting while the end of a call cannot be written: more paid answers would only be more
// to lose. The zero gate is open.
type gate struct {
	mu      sync.Mutex
	unsaved int
	opened  chan struct{} // closed when unsaved falls to 0; nil while the gate is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unsaved++; g.unsaved == 1 {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unsaved--; g.unsaved == 0 {
		close(g.opened)
		g.opened = nil
	}
}

// wait returns when the gate is open, or with the reason why ctx has ended.
func (g *gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		if opened == nil {
			return context.Cause(ctx)
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
