// Package claudesim is a local stand-in for the Claude API that fails on purpose and keeps the bill.
//
// It answers /v1/messages (whole and streamed), /v1/messages/count_tokens and /v1/models with the headers, error
// envelopes, rate limits, stop reasons and validation errors of the real service, and generates answers that fit the
// schema of the request. A profile (a YAML file, or a Profile value) says which calls fail, and how. A meter counts
// what each request really cost, so that a test can compare the bill with what a client believes it has paid.
//
// Everything random depends on the profile's seed, the bytes of the request and how often these bytes came before,
// never on the order in which calls arrive or on the time. Two runs of the same requests meet the same faults.
//
// A Server is an http.Handler, it can listen on a socket, and its Transport serves requests inside the process, also
// in a testing/synctest bubble.
package claudesim
