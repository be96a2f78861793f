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
	level, text, args := describe(e)
	if r.cfg.Logger.Enabled(r.work, level) {
		r.cfg.Logger.Log(r.work, level, text, append([]any{slog.String("queue", r.cfg.Queue)}, args...)...)
	}
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
func describe(e Event) (slog.Level, string, []any) {
	switch e := e.(type) {
	case Started:
		return slog.LevelDebug, "started", of(e.Delivery)
	case Settled:
		args := append(of(e.Delivery), slog.String("outcome", string(e.Decision.Outcome)))
		if e.Failure != nil {
			args = append(args, slog.String("cause", string(e.Failure.Cause)), errorArg(e.Failure))
		}
		if e.Decision.State == siding.StateDead {
			return slog.LevelInfo, "set aside", append(args, slog.String("reason", string(e.Decision.Reason)))
		}
		return slog.LevelDebug, "settled", args
	case Lost:
		return slog.LevelWarn, "lease lost", of(e.Delivery)
	case Throttled:
		return slog.LevelInfo, "throttled", []any{slog.Duration("for", e.For), errorArg(e.Failure)}
	case Resumed:
		return slog.LevelInfo, "resumed after a rest", nil
	case Held:
		return slog.LevelWarn, "held", []any{errorArg(e.Err)}
	case Idle:
		return slog.LevelDebug, "idle", []any{slog.Duration("next", e.Next)}
	case StoreFault:
		return slog.LevelWarn, "the store failed", []any{slog.String("op", e.Op), slog.Duration("again", e.Again), errorArg(e.Err)}
	case Reaped:
		return slog.LevelInfo, "freed what dead processes had left", []any{slog.Int("messages", e.Messages)}
	case Stopping:
		if e.Err != nil {
			return slog.LevelWarn, "stopping", []any{errorArg(e.Err)}
		}
		return slog.LevelInfo, "stopping", nil
	case Abandoned:
		return slog.LevelError, "a handler ignores its cancelled context and is left behind", of(e.Delivery)
	}
	return slog.LevelDebug, fmt.Sprintf("%T", e), nil
}

func of(d *siding.Delivery) []any {
	return []any{slog.String("id", d.ID), slog.Int("delivery", d.Number), slog.Int("attempt", d.Attempt)}
}

// errorArg is an error for the log: scrubbed, as it may come from anywhere.
func errorArg(err error) slog.Attr {
	return slog.String("error", siding.Scrub((&siding.Failure{Err: err}).Error(), siding.MaxErrorText))
}
