package siding

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
)

// RecordID gives the event ID of an input's record that brings none: from the hash of its exact bytes, and from how many
// records of the same bytes stand before it in the input (from 0). It depends on nothing else, so that it is the same in
// every run and every store, wherever the record moves.
func RecordID(source [32]byte, before int64) string {
	id := "record-" + hex.EncodeToString(source[:16])
	if before > 0 {
		id += "-" + strconv.FormatInt(before+1, 10)
	}
	return id
}

// DuplicateID gives the event ID under which a record is set aside whose own ID another record of its input has taken:
// from that ID (shortened, where the whole would be too long) and the bytes of its body.
func DuplicateID(id string, body []byte) string {
	sum := sha256.Sum256(body)
	tail := "~" + hex.EncodeToString(sum[:8])
	return cutHead(id, MaxIDBytes-len(tail)) + tail
}

// DuplicateFailure is why the record with a [DuplicateID] is set aside.
func DuplicateFailure(id string) *Failure {
	return &Failure{
		Outcome: OutcomePermanent, Cause: CauseDuplicateID, NoCall: true,
		Err: fmt.Errorf("another record of the input has the ID %q, with other bytes", id),
	}
}

// ExpiredFailure is why a message is set aside whose ExpiresAt has passed.
func ExpiredFailure() *Failure {
	return &Failure{
		Outcome: OutcomePermanent, Cause: CauseExpired, Reason: ReasonExpired, NoCall: true,
		Err: errors.New("its time had passed before it was done"),
	}
}
