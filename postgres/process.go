package postgres

import (
	"context"
	"os"

	"github.com/siding-dev/siding"
)

// enlist registers the store as a process, and frees what dead ones left.
func (s *Store) enlist(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// A stop waits for this write: whether there is a row, and which, must be known when the store is closed.
	err := s.do(&op{ctx: context.WithoutCancel(ctx), name: "open", shared: true, run: (*tx).register})
	if err != nil {
		return err
	}
	n, err := s.Reap(ctx)
	if n > 0 {
		s.opts.Logger.Info("freed what processes that died had left", "messages", n)
	}
	return err
}

// register makes the row of this process.
func (t *tx) register() (err error) {
	host, _ := os.Hostname()
	t.process, err = t.insert(`INSERT INTO processes (pid, pid_space, pid_start, host, boot_id, started_at)
		VALUES (?, ?, ?, ?, ?, ?) RETURNING id`,
		os.Getpid(), pidSpace(), pidStart(int64(os.Getpid())), siding.Scrub(host, 256), bootID(), t.now)
	return err
}

// delist ends the registration. What the process still has stays with its row, for others to free.
func (s *Store) delist() error {
	return s.write(context.Background(), "close", 0, func(t *tx) error {
		n, err := t.exec("DELETE FROM processes WHERE id = ?1 AND "+nothingLeft, t.process)
		if err == nil && n == 0 {
			// Whatever becomes of the process now, it is not the doing of the messages that it had.
			_, err = t.exec("UPDATE processes SET stopped = true, gone = true WHERE id = ?", t.process)
		}
		t.process = 0
		return err
	})
}

// nothingLeft holds for a process (?1) that has no lease, no call under way and no input that it is reading.
const nothingLeft = `NOT EXISTS (SELECT 1 FROM messages WHERE state = 'leased' AND process = ?1)
	AND NOT EXISTS (SELECT 1 FROM calls WHERE fate = 'started' AND process = ?1)
	AND NOT EXISTS (SELECT 1 FROM inputs WHERE process = ?1 AND state = 'open')`

// registered is a row of processes.
type registered struct {
	id, pid, beat                    int64
	pidSpace, pidStart, host, bootID string
	gone, stopped                    bool
}

const processColumns = "id, pid, beat, pid_space, pid_start, host, boot_id, gone, stopped"

func (r *row) process() registered {
	return registered{
		id: r.int(0), pid: r.int(1), beat: r.int(2), pidSpace: r.str(3), pidStart: r.str(4), host: r.str(5), bootID: r.str(6),
		gone: r.bool(7), stopped: r.bool(8),
	}
}

// causeOfDeath tells a process that died from one that closed the store, and from one whose machine was restarted.
func (p registered) causeOfDeath() siding.Cause {
	if p.stopped {
		return siding.CauseShutdown
	}
	host, _ := os.Hostname()
	if boot := bootID(); boot != "" && p.bootID != "" && p.bootID != boot && p.host == siding.Scrub(host, 256) {
		return siding.CauseHostRestart
	}
	return siding.CauseWorkerCrash
}

// registeredProcess finds a process; found is false when it is not registered (any more).
func (t *tx) registeredProcess(id int64) (p registered, found bool, err error) {
	found, err = t.one(func(r *row) { p = r.process() }, "SELECT "+processColumns+" FROM processes WHERE id = ?", id)
	return p, found, err
}

// endOfLease tells why a lease has run out: its process lives and was too slow, or it has died.
func (t *tx) endOfLease(process int64) (siding.Cause, error) {
	p, found, err := t.registeredProcess(process)
	if err != nil || !found || !p.gone {
		return siding.CauseLeaseLost, err
	}
	return p.causeOfDeath(), nil
}

// Reap frees what proven dead processes have left; see [siding.Queue]. Inputs that they were reading are dropped. What
// tells that a process is dead: on its own machine, that machine's process table; elsewhere, that its beat has stood still
// while this process watched it for [deadAfter] looks, about half a minute.
func (s *Store) Reap(ctx context.Context) (int, error) {
	if s.opts.ReadOnly {
		return 0, ctx.Err()
	}
	var all []registered
	err := s.read(ctx, func(c *conn) error {
		return c.query(func(r *row) error {
			all = append(all, r.process())
			return nil
		}, "SELECT "+processColumns+" FROM processes")
	})
	if err != nil {
		return 0, err
	}
	total := 0
	for _, p := range all {
		if p.id == s.process.Load() || !p.gone && !p.diedHere() {
			continue
		}
		for {
			var freed int
			var more bool
			err := s.write(ctx, "reap", 0, func(t *tx) (err error) {
				freed, more, err = t.reap(p)
				return err
			})
			if err != nil {
				return total, err
			}
			if total += freed; !more {
				break
			}
		}
		if err := s.dropInputs(ctx, "process = ? AND state <> 'sealed'", p.id); err != nil {
			return total, err
		}
		if err := s.write(ctx, "reap", 0, func(t *tx) error {
			_, err := t.exec("DELETE FROM processes WHERE id = ?1 AND gone AND "+nothingLeft, p.id)
			return err
		}); err != nil {
			return total, err
		}
	}
	return total, nil
}

// reapMost bounds how much one transaction frees.
const reapMost = 256

// reap frees some of what a dead process has left, and tells whether there may be more.
func (t *tx) reap(proven registered) (freed int, more bool, err error) {
	p, found, err := t.registeredProcess(proven.id)
	if err != nil || !found { // another store may have done it since
		return 0, false, err
	}
	if !p.gone { // what proved it holds for ever
		if err := t.guarded("UPDATE processes SET gone = true WHERE id = ?", p.id); err != nil {
			return 0, false, err
		}
	}
	var left []ready
	err = t.query(func(r *row) error {
		m := ready{stored: r.message()}
		m.err = r.err
		left = append(left, m)
		return nil
	}, "SELECT "+messageColumns+" FROM messages m WHERE m.state = 'leased' AND m.process = ? ORDER BY m.id LIMIT ?", p.id, reapMost)
	if err != nil {
		return 0, false, err
	}
	for i := range left {
		if left[i].err != nil {
			continue // Check shows it
		}
		_, err := t.finish(&left[i].stored, siding.Settlement{Failure: left[i].interrupted(p.causeOfDeath()), Policy: siding.DefaultPolicy()})
		if err != nil {
			return freed, false, err
		}
		freed++
	}
	// Its calls stay counted as maybe billed, as they have been since they started.
	_, err = t.exec("UPDATE calls SET fate = 'unknown', ended_at = ? WHERE process = ? AND fate = 'started'", t.now, p.id)
	return freed, len(left) == reapMost && freed > 0, err
}
