package siding

import "time"

// RateLimits is what a service told of its limits with an answer. A limit of 0 is not known.
type RateLimits struct {
	Requests, InputTokens, OutputTokens RateLimit
}

// RateLimit is a token bucket as its service sees it: it refills without a pause, and is full at Reset.
type RateLimit struct {
	Limit     int64     // what the full bucket holds
	Remaining int64     // what was in it when the answer was written
	Reset     time.Time // when it will be full again
}
