package worker

import (
	"fmt"
	"log/slog"

	"github.com/siding-dev/siding"
)

// notify tells the observer and the log.
func (r *run) notify(e Event) {
	if r.cfg.Observe != nil {
		r.observe(e)
	}
	if level := levelOf(e); r.cfg.Logger.Enabled(r.work, level) {
		text, args := describe(e)
		r.cfg.Logger.Log(r.work, level, text, append([]any{slog.String("queue", r.cfg.Queue)}, args...)...)
	}
}

// levelOf tells who should see an event: each delivery is for whoever debugs, what is set aside for everybody.
func levelOf(e Event) slog.Level {
	switch e := e.(type) {
	case Settled:
		if e.Decision.State == siding.StateDead {
			return slog.LevelInfo
		}
	case Stopping:
		if e.Err != nil {
			return slog.LevelWarn
		}
		return slog.LevelInfo
	case Throttled, Resumed, Reaped:
		return slog.LevelInfo
	case Lost, Held, StoreFault:
		return slog.LevelWarn
	case Abandoned:
		return slog.LevelError
	}
	return slog.LevelDebug
}

func (r *run) observe(e Event) {
	defer func() {
		if value := recover(); value != nil {
			r.cfg.Logger.Error("the observer panicked", "event", fmt.Sprintf("%T", e), "panic", siding.Scrub(panicText(value), maxPanicText))
		}
	}()
	r.cfg.Observe(e)
}

// describe gives the line that the log has of an event.
func describe(e Event) (string, []any) {
	switch e := e.(type) {
	case Started:
		return "started", of(e.Delivery)
	case Settled:
		args := append(of(e.Delivery), slog.String("outcome", string(e.Decision.Outcome)))
		if e.Failure != nil {
			args = append(args, slog.String("cause", siding.Scrub(string(e.Failure.Cause), 64)), errorArg(e.Failure))
		}
		if e.Decision.State == siding.StateDead {
			return "set aside", append(args, slog.String("reason", string(e.Decision.Reason)))
		}
		if other := e.Decision.WaitsFor; other != "" {
			return "forwarded", append(args, slog.String("to", siding.Scrub(other, 128)))
		}
		return "settled", args
	case Lost:
		return "lease lost", of(e.Delivery)
	case Throttled:
		return "throttled", []any{slog.Duration("for", e.For), errorArg(e.Failure)}
	case Resumed:
		return "resumed after a rest", nil
	case Held:
		return "held", []any{errorArg(e.Err)}
	case Idle:
		return "idle", []any{slog.Duration("next", e.Next)}
	case StoreFault:
		return "the store failed", []any{slog.String("op", e.Op), slog.Duration("again", e.Again), errorArg(e.Err)}
	case Reaped:
		return "freed what dead processes had left", []any{slog.Int("messages", e.Messages)}
	case Stopping:
		if e.Err != nil {
			return "stopping", []any{errorArg(e.Err)}
		}
		return "stopping", nil
	case Abandoned:
		return "a handler ignores its cancelled context and is left behind", of(e.Delivery)
	}
	return fmt.Sprintf("%T", e), nil
}

func of(d *siding.Delivery) []any {
	return []any{slog.String("id", d.ID), slog.Int("delivery", d.Number), slog.Int("attempt", d.Attempt)}
}

// errorArg is an error for the log: scrubbed, as it may come from anywhere.
func errorArg(err error) slog.Attr {
	return slog.String("error", siding.Scrub((&siding.Failure{Err: err}).Error(), siding.MaxErrorText))
}
