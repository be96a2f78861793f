package quarantine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/siding-dev/siding"
)

// driving is a lease on a campaign that this process has, as a note in the store.
type driving struct {
	version int64
	renew   time.Time // by this process's clock
}

// holder is the note: who drives a campaign, and until when, in microseconds of the store's time.
type holder struct {
	Owner string `json:"owner"`
	Until int64  `json:"until"`
}

// driveLease is for how long a process is taken to be driving; it renews its lease when a third of that has passed.
const driveLease = 15 * time.Second

func driveNote(id siding.CampaignID) string { return fmt.Sprint("campaign/", id) }

// hold tells whether this process may drive a campaign. Nothing that is sent depends on it.
func (d *Driver) hold(ctx context.Context, id siding.CampaignID) (bool, error) {
	if l := d.leases[id]; l != nil && time.Now().Before(l.renew) {
		return true, nil
	}
	note, err := d.Store.Note(ctx, driveNote(id))
	if err != nil && !errors.Is(err, siding.ErrNotFound) {
		return false, err
	}
	now, err := d.Store.Now(ctx)
	if err != nil {
		return false, err
	}
	var h holder
	// A note that cannot be read holds nobody up.
	if json.Unmarshal(note.Value, &h) == nil && h.Owner != d.Owner && h.Until > now.UnixMicro() {
		delete(d.leases, id)
		return false, nil
	}
	value, err := json.Marshal(holder{d.Owner, now.Add(driveLease).UnixMicro()})
	if err != nil {
		return false, err
	}
	renew := time.Now().Add(driveLease / 3)
	version, err := d.Store.SetNote(ctx, siding.Note{Key: driveNote(id), Value: value, Version: note.Version})
	switch {
	case errors.Is(err, siding.ErrConflict): // another was quicker
		delete(d.leases, id)
		return false, nil
	case err != nil:
		return false, err
	}
	if d.leases == nil {
		d.leases = map[siding.CampaignID]*driving{}
	}
	d.leases[id] = &driving{version: version, renew: renew}
	return true, nil
}

// Release lets others drive a campaign at once. Where it fails, they wait for the lease to run out.
func (d *Driver) Release(ctx context.Context, id siding.CampaignID) {
	if l := d.leases[id]; l != nil {
		_, _ = d.Store.SetNote(ctx, siding.Note{Key: driveNote(id), Version: l.version})
		delete(d.leases, id)
	}
}

// Close releases every campaign that this process was driving.
func (d *Driver) Close(ctx context.Context) {
	for id := range d.leases {
		d.Release(ctx, id)
	}
}
