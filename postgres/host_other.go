//go:build !linux

package postgres

// On other systems only the beat tells whether a process lives.

func bootID() string { return "" }

func pidSpace() string { return "" }

func pidStart(int64) string { return "" }

func (registered) diedHere() bool { return false }
