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
//   - A fault that is not the message's (outcome held) costs no attempt either. With [Config.Gates] the account, the lane
//     and the recipe of the work are watched, in the store and so by all workers together: a known fault, an outage, a
//     service with too much to do, or messages that all fail alike close a gate; then one message at a time finds out
//     whether that is over. [Config.Wait] says how long Run waits, before it ends with a [*HeldError].
//   - Where limits are told ([siding.Result]) calls are spaced so that hardly one is refused; where none are, a watched
//     lane is given fewer calls at a time when it refuses some, and more as it takes them.
//   - Without gates a held message waits while the others go on, and a fault that does not pass by itself ends Run.
//   - A message that was in flight when its process died is handed over alone, until it has settled.
//
// Inside, a step function decides (the files core*.go, pace.go, bucket.go and adapt.go: news in, commands out, without clock, goroutine or I/O, so that
// a run can be replayed from its seed), and the other files carry out what it says.
package worker
