// Package worker runs handlers over the messages of a queue: lease → handle → route → settle.
//
//	w, err := worker.New(store, worker.Config{Queue: "reminders", Handler: h})
//	err = w.Run(ctx)
//
// A [Worker] leases no more messages than it has free slots, hands them to a handler, extends their leases while the
// handler runs, and settles each with what [siding.FailureOf] makes of the handler's error. What it does not know it
// does not guess: where a message goes is decided by [siding.Route], inside the store.
//
// What a user can rely on:
//
//   - A delayed retry occupies no slot, and while untried messages wait, retries use at most a quarter of the slots.
//   - A panic (or runtime.Goexit) in a handler is one failed delivery, not a crash.
//   - An outcome that the store cannot write now (disk full, connection lost) is kept and tried again; meanwhile no
//     further message is leased. It is lost only with the process, and the message then is delivered again.
//   - Stopping condemns nothing: what has not ended in time goes back to the queue, and costs no attempt.
//   - A fault that is not the message's (outcome held) costs no attempt either. One that passes by itself (throttled, or
//     with a time to wait) lets the worker rest, and wakes it with one message; any other stops it with a [*HeldError].
//     One that names a time and no scope concerns its message alone, which waits while the others go on.
//
// Inside, a step function decides (the files core*.go: news in, commands out, without clock, goroutine or I/O, so that
// a run can be replayed from its seed), and the other files carry out what it says.
package worker
