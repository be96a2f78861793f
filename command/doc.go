// Package command runs a program for each message, and says what its end means.
//
// [Handler] starts a program without a shell, gives it the message's body on standard input, and takes what it writes on
// standard output as the result. Its exit status says what to do with the message, by the numbers of sysexits. A program
// that hangs, floods, crashes, never reads or leaves children behind costs one message its try, and no worker.
package command
