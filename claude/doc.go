// Package claude asks Claude, pays once, and says what a failure means.
//
// [Handler] turns a message into one request of the Messages API: it checks the record, renders the prompt, reads
// images, journals the call before and after, sends it with the official SDK (whose own retries are off), and accepts
// the answer only when its stop reason, its content and its schema are what was asked for.
//
// [Classify], [ClassifyResponse], [Accept] and [AcceptJSON] serve alone in anybody's own loop around the SDK.
package claude
