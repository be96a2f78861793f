package command

import (
	"context"

	"github.com/siding-dev/siding"
)

// Handle runs the program for one message. How it ends is what it means:
//
//   - exit status 0: done. Standard output is the result: as it is when it is JSON, else as a JSON string; none of
//     nothing. More than MaxOutput, or what does not fit OutputSchema, sets the message aside.
//   - 65 (EX_DATAERR): permanent. 75 (EX_TEMPFAIL): transient.
//   - 77 (EX_NOPERM): held, scope lane. 78 (EX_CONFIG), and 126 and 127, with which a shell says that it could not run
//     something: held, scope recipe. So is a program that is not there or may not be run.
//   - any other status, a signal, the timeout: transient. A program that is killed is no crash of the worker.
//
// When the timeout is over or ctx ends, the whole process group gets SIGTERM, and SIGKILL after the grace time. What the
// program leaves running is killed when it ends; so it must not leave to others what is to outlive it. A JSON record that
// is broken, or does not fit the schema, is set aside without running anything.
func (h *Handler) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	if f := check(d.Message, h.c.JSON, h.input); f != nil {
		return siding.Result{NoCall: true}, f
	}
	r := h.run(ctx, d)
	if f := h.conclude(r); f != nil {
		return siding.Result{}, f
	}
	body := resultOf(r.stdout)
	if h.output != nil {
		if f := h.mismatch(body); f != nil {
			return siding.Result{}, f
		}
	}
	return siding.Result{Body: body}, nil
}

// mismatch says where a result does not fit the output schema; nil: it does.
func (h *Handler) mismatch(body []byte) *siding.Failure {
	if body == nil {
		return resultFault("the program wrote no result")
	}
	if err := h.output.fits(body); err != nil {
		return resultFault("the result does not fit the schema: %s (it is %q)", h.hide.Replace(err.Error()), h.hide.Replace(cut(string(body), 120)))
	}
	return nil
}

func resultFault(format string, args ...any) *siding.Failure {
	f := recordFault(siding.CauseSchemaMismatch, nil, format, args...)
	f.NoCall = false
	return f
}
