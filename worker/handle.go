package worker

import (
	"context"
	"runtime/debug"

	"github.com/siding-dev/siding"
)

// call runs the handler over deliveries and gives what it came to: exactly once, whatever the handler does.
func (w *Worker) call(ctx context.Context, id int64, deliveries []*siding.Delivery, send func(news)) {
	end := newsEnded{call: id, items: make([]itemEnd, len(deliveries))}
	end.failure = unspeakable
	defer func() { send(end) }() // even then
	returned := false
	defer func() {
		if returned {
			return
		}
		if value := recover(); value != nil {
			end.failure = panicFailure(value, debug.Stack())
		} else {
			end.failure = goexitFailure(debug.Stack())
		}
	}()
	if w.cfg.BatchHandler != nil {
		w.callBatch(ctx, deliveries, &end)
	} else {
		result, err := w.cfg.Handler.Handle(ctx, deliveries[0])
		end.items[0].result = result
		if end.failure = failureOf(err); end.failure == nil {
			end.failure = checkResult(result)
		}
	}
	returned = true
}

func (w *Worker) callBatch(ctx context.Context, deliveries []*siding.Delivery, end *newsEnded) {
	batch := make([]*siding.BatchItem, len(deliveries))
	for i, d := range deliveries {
		batch[i] = siding.NewBatchItem(d)
	}
	mine := append([]*siding.BatchItem(nil), batch...) // the handler may do with its slice what it likes
	// In any case, also after a panic, what is settled counts.
	defer func() {
		for i, item := range mine {
			result, err, settled := item.Settled()
			if !settled {
				continue
			}
			f := failureOf(err)
			if f == nil {
				f = checkResult(result)
			}
			end.items[i] = itemEnd{settled: true, result: result, failure: f}
		}
	}()
	end.failure = failureOf(w.cfg.BatchHandler.HandleBatch(ctx, batch))
}
