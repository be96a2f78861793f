package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/intake"
)

// The bounds of what is enqueued in one write.
const (
	enqueueBatch = 1000    // messages
	enqueueBytes = 4 << 20 // of their bodies, unless one alone has more
)

// openInputs makes ready to read the inputs; what can be seen to be wrong with them is seen here.
func (r *oneRun) openInputs() (*intake.Input, error) {
	o, err := r.recipeIntake(r.recipe, r.flags.format)
	if err != nil {
		return nil, err
	}
	in, err := intake.Open(r.inputs, o)
	return in, asUsage(err)
}

// enqueue takes the input in: every record, in batches, as members of a new generation of its manifest.
func (r *oneRun) enqueue(ctx context.Context, in *intake.Input) error {
	id, err := r.store.BeginInput(ctx, r.recipe.Queue, r.key)
	if err != nil {
		return err
	}
	r.input = id
	options := siding.EnqueueOptions{Supersede: true, RedriveDead: r.flags.redriveDead, Input: id}
	var n int64
	shown := time.Now()
	for b := range readBatches(ctx, in) {
		if ctx.Err() != nil {
			return errInterrupted
		}
		if err := enqueueBatchOf(ctx, r.store, r.recipe.Queue, options, b.msgs); err != nil {
			return err
		}
		if b.err != nil {
			return unreadable(fmt.Errorf("%w (nothing was asked; mend it and run again)", b.err))
		}
		if n += int64(len(b.msgs)); time.Since(shown) >= plainEvery {
			shown = time.Now()
			r.hintf("%s read", counted(n, "record"))
		}
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return r.store.SealInput(ctx, id)
}

// unreadable makes a fault of an input as a whole (its format, its encoding) wrong usage, wherever it is found: for standard
// input that is not before the first read.
func unreadable(err error) error {
	if fault, ok := errors.AsType[*intake.Error](err); ok && fault.Line == 0 {
		return asUsage(err)
	}
	return err
}

func enqueueBatchOf(ctx context.Context, store siding.Producer, queue string, o siding.EnqueueOptions, msgs []siding.NewMessage) error {
	if len(msgs) == 0 {
		return nil
	}
	result, err := store.Enqueue(ctx, queue, o, msgs...)
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	for i, e := range result {
		if e.Err != nil {
			s := msgs[i].Source
			return fmt.Errorf("%s: line %d: %w", s.File, s.Line, e.Err)
		}
	}
	return nil
}

// readBatch is some records of an input, and what ended the reading after them, if something did.
type readBatch struct {
	msgs []siding.NewMessage
	err  error
}

// readBatches reads an input in a goroutine of its own, which closes it: the next records are read while these are
// written, and a read of standard input that waits for its writer does not keep the program from stopping. The walk ends
// with the input or the context.
func readBatches(ctx context.Context, in *intake.Input) iter.Seq[readBatch] {
	return func(yield func(readBatch) bool) {
		reading, stop := context.WithCancel(ctx)
		defer stop()
		batches := make(chan readBatch)
		go func() {
			defer close(batches)
			defer closing(in)
			for more := true; more; {
				var b readBatch
				b, more = nextBatch(in)
				select {
				case batches <- b:
				case <-reading.Done():
					return
				}
			}
		}()
		for {
			select {
			case b, ok := <-batches:
				if !ok || !yield(b) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// nextBatch reads the next records of an input. more is false when there are no further ones.
func nextBatch(in *intake.Input) (b readBatch, more bool) {
	for size := 0; len(b.msgs) < enqueueBatch && size < enqueueBytes; {
		m, err := in.Next()
		if errors.Is(err, io.EOF) {
			return b, false
		}
		if err != nil {
			b.err = err
			return b, false
		}
		b.msgs = append(b.msgs, m)
		size += len(m.Body)
	}
	return b, true
}

// early ends a run that could not read its input to the end: no call has been made. The results that an earlier run left
// are as complete as they can be, and stay so; where there are none, those that the store knows of are written.
func (r *oneRun) early(ctx context.Context, ended error) error {
	ended = interrupted(ctx, ended)
	ctx = context.WithoutCancel(ctx)
	if !errors.Is(ended, errInterrupted) {
		return storeError(ended)
	}
	r.notef("%v", errInterrupted)
	id, err := r.store.FindInput(ctx, r.recipe.Queue, r.key)
	if errors.Is(err, siding.ErrNotFound) {
		id, err = r.input, nil
	}
	if err == nil && id != 0 {
		err = r.writeResults(ctx, id)
	}
	var stats siding.InputStats
	var serr error
	if counted := cmp.Or(r.input, id); counted != 0 { // else it was stopped before there was anything to count
		stats, serr = r.store.InputStats(ctx, counted, r.digest)
	}
	if serr == nil {
		serr = r.summarise(r.summaryTo(), stats, r.path, r.recipe.Queue)
	}
	return storeError(errors.Join(said(errInterrupted), err, serr))
}
