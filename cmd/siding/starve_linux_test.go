package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// starve limits the process's memory to what it has and a little more, and asks for more than that, until the Go runtime
// ends the process.
func starve() {
	const little = 64 << 20
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: little, Max: little}); err != nil {
		os.Exit(3)
	}
	var all [][]byte
	for {
		b := make([]byte, little)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		all = append(all, b)
		if len(all) > 1000 {
			os.Exit(3) // the limit did not hold; that is no death by memory
		}
	}
}
