// Package alert tells somebody when a queue needs a look: when so many messages have been set aside, when a failure of a
// new kind appears, when something in the queue's way is held, when too many answers do not fit their schema. Each
// condition is told once, and its end once, however many processes work on the queue and however often they are started.
//
// What has been told is kept in the store, in the note [Key] of the queue. [Evaluate] holds the rules and [State.Claim]
// and [State.Confirm] those of sending; all three are pure. A [Watcher] reads the store and sends.
package alert
