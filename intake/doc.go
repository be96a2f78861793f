// Package intake reads input files into messages: JSON Lines, JSON arrays and CSV, each record exactly as it stands in
// its file, in memory that does not grow with the input.
//
// A record that cannot be used is a message too: it carries its bytes, its place and, where the fault is found here, its
// cause ([siding.NewMessage.Dead]). Only what makes the rest of a file unreadable is an error ([*Error]), and everything
// before it has been given by then. docs/inputs.md lists the answer to every odd kind of input.
package intake
