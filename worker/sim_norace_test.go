//go:build !race

package worker

const simShare = 1
