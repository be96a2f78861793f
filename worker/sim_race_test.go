//go:build race

package worker

// The race detector makes a history twenty times slower, and finds little where one goroutine runs at a time.
const simShare = 20
