package postgres

import "time"

// time gives a moment; NULL is the zero time.
func (r *row) time(i int) time.Time {
	if r.v[i] == nil {
		return time.Time{}
	}
	return fromMicros(r.int(i))
}

// fromMicros gives the moment of a stored time.
func fromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// roundUp gives a moment in whole microseconds, not earlier; the zero time stays zero.
func roundUp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Add(time.Microsecond - 1).Truncate(time.Microsecond).UTC()
}

// micros gives a moment as it is stored: in whole microseconds, not earlier; nil for the zero time.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return roundUp(t).UnixMicro()
}

// text gives a text as it is stored where empty means none: NULL.
func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}
