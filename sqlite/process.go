package sqlite

import (
	"context"
	"os"

	"github.com/siding-dev/siding"
)

// enlist registers the store as a process, and frees what dead ones left. The lock comes first, then the row: whoever
// sees the row finds the lock held for as long as this process lives.
func (s *Store) enlist(ctx context.Context) error {
	at, err := s.lock.register()
	if err != nil {
		return explainOS(s.path, err)
	}
	s.processByte = at
	host, _ := os.Hostname()
	var id int64
	if err := ctx.Err(); err != nil {
		return err
	}
	// A stop waits for this write: whether there is a row, and which, must be known when the store is closed.
	err = s.write(context.WithoutCancel(ctx), "open", 0, func(t *tx) (err error) {
		_, id, err = t.insert("INSERT INTO processes (pid, host, boot_id, started_at, lock_file, lock_offset) VALUES (?, ?, ?, ?, ?, ?)",
			os.Getpid(), siding.Scrub(host, 256), bootID(), t.now, s.lock.id, at)
		return err
	})
	if err != nil {
		return err
	}
	s.process = id
	n, err := s.Reap(ctx)
	if n > 0 {
		s.opts.Logger.Info("freed what processes that died had left", "messages", n)
	}
	return err
}

// delist ends the registration. What the process still has stays with its row, for others to free.
func (s *Store) delist() error {
	return s.write(context.Background(), "close", 0, func(t *tx) error {
		n, err := t.exec("DELETE FROM processes WHERE id = ?1 AND "+nothingLeft, s.process)
		if err == nil && n == 0 {
			// Whatever becomes of the process now, it is not the doing of the messages that it had.
			_, err = t.exec("UPDATE processes SET stopped = 1 WHERE id = ?", s.process)
		}
		return err
	})
}

// nothingLeft holds for a process (?1) that has no lease, no call under way and no input that it is reading.
const nothingLeft = `NOT EXISTS (SELECT 1 FROM messages WHERE state = 'leased' AND process = ?1)
	AND NOT EXISTS (SELECT 1 FROM calls WHERE fate = 'started' AND process = ?1)
	AND NOT EXISTS (SELECT 1 FROM inputs WHERE process = ?1 AND state = 'open')`

// registered is a row of processes.
type registered struct {
	id, lockOffset int64
	bootID         string
	lockFile       string
	stopped        bool
}

const processColumns = "id, boot_id, lock_file, lock_offset, stopped"

func (r *row) process() registered {
	return registered{id: r.int(0), bootID: r.str(1), lockFile: r.str(2), lockOffset: r.int(3), stopped: r.bool(4)}
}

// dead tells whether a process is proven to have died: its lock is in the file that this store has open, and is free.
func (s *Store) dead(p registered) bool {
	if !canProve || p.id == s.process || p.lockFile == "" || p.lockFile != s.lock.id {
		return false
	}
	held, err := s.lock.held(p.lockOffset)
	return err == nil && !held
}

// causeOfDeath tells a process that died from one that closed the store, and from one whose machine was restarted.
func (p registered) causeOfDeath() siding.Cause {
	if p.stopped {
		return siding.CauseShutdown
	}
	if boot := bootID(); boot != "" && p.bootID != "" && p.bootID != boot {
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
	if err != nil || !found || !t.s.dead(p) {
		return siding.CauseLeaseLost, err
	}
	return p.causeOfDeath(), nil
}

// Reap frees what proven dead processes have left; see [siding.Queue]. Inputs that they were reading are dropped. What a
// process has left that cannot be proven dead (its row came from another machine with a copied file, or the system has
// no such locks) runs out by itself.
func (s *Store) Reap(ctx context.Context) (int, error) {
	if !canProve || s.opts.ReadOnly {
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
		if !s.dead(p) {
			continue
		}
		for {
			var freed int
			var more bool
			err := s.write(ctx, "reap", 0, func(t *tx) (err error) {
				freed, more, err = t.reap(p.id)
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
			_, err := t.exec("DELETE FROM processes WHERE id = ?1 AND "+nothingLeft, p.id)
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
func (t *tx) reap(process int64) (freed int, more bool, err error) {
	p, found, err := t.registeredProcess(process)
	if err != nil || !found || !t.s.dead(p) { // another store may have done it since
		return 0, false, err
	}
	var left []ready
	err = t.query(func(r *row) error {
		m := ready{stored: r.message()}
		m.err = r.err
		left = append(left, m)
		return nil
	}, "SELECT "+messageColumns+" FROM messages m INDEXED BY messages_leased WHERE m.state = 'leased' AND m.process = ? LIMIT ?", process, reapMost)
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
	_, err = t.exec("UPDATE calls SET fate = 'unknown', ended_at = ? WHERE process = ? AND fate = 'started'", t.now, process)
	return freed, len(left) == reapMost && freed > 0, err
}
