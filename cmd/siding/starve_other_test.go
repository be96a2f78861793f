//go:build !linux

package main

import "os"

// starve cannot limit the memory here; the process ends all the same.
func starve() { os.Exit(3) }
