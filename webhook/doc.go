// Package webhook sends each message to an address, and says what the reply means.
//
// [Handler] makes one HTTP request of a message: the body as it is, the event ID as idempotency key, headers whose
// values may come from the environment. It is careful with what a wrong or hostile address could do: redirects are not
// followed and private addresses not connected to unless that is allowed, replies are bounded, and no value from the
// environment gets into an error, a digest or the store. With a journal, an event that has been delivered is not
// delivered again, also after a crash or a redrive.
package webhook
