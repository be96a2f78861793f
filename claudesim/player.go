package claudesim

import (
	"context"
	"time"
)

// A player performs a script step by step. Waiting and billing it does itself; what has to be sent it hands out.
type player struct {
	server *Server
	script *script
	at     int
	ended  bool
}

// next performs steps until something has to be sent, and returns that. After the last step it returns stepEnd, and
// stepClosed when the client left meanwhile. The call is counted as ended before its last bytes are handed out, so
// that a client which has the answer also finds it in the meter.
func (p *player) next(ctx context.Context) step {
	for p.at < len(p.script.steps) {
		st := p.script.steps[p.at]
		if ctx.Err() != nil {
			p.leave()
			return step{kind: stepClosed}
		}
		p.at++
		switch st.kind {
		case stepWait:
			if p.server.sleep(ctx, st.wait) != nil {
				p.leave()
				return step{kind: stepClosed}
			}
		case stepBill:
			p.bill()
		case stepCut, stepReset:
			p.end(false)
			return st
		default:
			if st.kind == stepHead {
				p.script.call.Status = p.script.status
			}
			if p.at == len(p.script.steps) {
				p.end(true)
			}
			return st
		}
	}
	p.end(true)
	return step{kind: stepEnd}
}

func (p *player) bill() {
	if p.script.call.Billed {
		return
	}
	now := p.server.now()
	pico, priced := cost(p.script.query.spec, p.script.reply.usage, now, p.script.query.usInference)
	p.server.meter.bill(p.script.call, p.script.reply.usage, pico, priced)
	p.server.remember(p.script.query, now)
}

// leave ends a call whose client has gone.
func (p *player) leave() {
	if !p.ended && p.script.leaveBilled {
		p.bill()
	}
	p.end(false)
}

func (p *player) end(complete bool) {
	if p.ended {
		return
	}
	p.ended = true
	c := p.script.call
	c.Complete, c.Acceptable = complete, complete && p.script.fits
	if complete && p.script.reply.answer != nil {
		c.Stop = p.script.reply.answer.stop
	}
	p.server.meter.end(c, p.server.now())
	if p.script.counted {
		p.server.release()
	}
}

// retract is called when the last bytes could not be sent after all.
func (p *player) retract() {
	if !p.ended {
		p.leave()
		return
	}
	p.server.meter.retract(p.script.call)
}

// sleepTimer waits with a timer, so that time in a synctest bubble passes at once.
func sleepTimer(ctx context.Context, d time.Duration) error {
	if d == forever {
		<-ctx.Done()
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
