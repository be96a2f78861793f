package siding

import (
	"fmt"
	"strings"
	"time"
)

// Note is a small value that a program keeps in the store, under a key of 1 to 512 bytes that [CheckID] takes.
type Note struct {
	Key       string
	Value     []byte // at most [MaxNote] bytes, kept exactly
	Version   int64  // from 1; rises with every write
	ChangedAt time.Time
}

// MaxNote is the length of the longest note, in bytes.
const MaxNote = 256 << 10

// Check says what is wrong with a note that is to be written, or nil.
func (n Note) Check() error {
	if err := CheckID(n.Key); err != nil {
		return fmt.Errorf("the note's key %q cannot be used: %w", Scrub(n.Key, 64), err)
	}
	if len(n.Value) > MaxNote {
		return fmt.Errorf("the note %q has %d bytes, and %d are allowed", n.Key, len(n.Value), MaxNote)
	}
	return nil
}

// settingPrefix begins the keys of the notes that are settings of the store.
const settingPrefix = "setting/"

// Setting tells whether the note is a setting of the store, whose changes are recorded in the audit trail.
func (n Note) Setting() bool { return strings.HasPrefix(n.Key, settingPrefix) }

// Queue gives the queue that a setting is of, which its key names after the setting: setting/NAME/QUEUE. Empty: none.
func (n Note) Queue() string {
	_, queue, _ := strings.Cut(strings.TrimPrefix(n.Key, settingPrefix), "/")
	return queue
}

// Change says what has become of a setting, for the audit trail.
func (n Note) Change(old Note) string {
	shown := func(value []byte) string {
		if value == nil {
			return "not set"
		}
		return Scrub(string(value), 512)
	}
	return fmt.Sprintf("%s: %s → %s", strings.TrimPrefix(n.Key, settingPrefix), shown(old.Value), shown(n.Value))
}
