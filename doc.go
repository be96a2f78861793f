// Package siding is the vocabulary and the pure rules of a durable job queue for services that fail and cost money.
//
// A message is one unit of work in a queue. A worker leases it, hands it to a handler (a delivery) and settles it with
// an outcome. [Route] decides from the outcome where the message goes; it does no I/O, and every store calls it inside
// its own guarded write, with its own clock. Failures that are the message's own end in the quarantine with their whole
// history, from where [Redrive] sends them back under the same event ID.
//
// The package imports nothing else of this module: stores (package sqlite), the worker (package worker) and the
// handlers (package claude) stand on it.
package siding
