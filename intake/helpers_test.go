package intake

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
)

// readAll reads a whole text in one format.
func readAll(t require.TestingT, format Format, text string, o Options) ([]siding.NewMessage, error) {
	o.Format = format
	r, err := NewReader("in."+string(format), strings.NewReader(text), 0, o)
	if err != nil {
		return nil, err
	}
	var all []siding.NewMessage
	for {
		m, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			_, again := r.Next()
			require.Equal(t, err, again, "an error stays")
			return all, err
		}
		if m.Source.Ordinal != int64(len(all)) {
			require.EqualValues(t, len(all), m.Source.Ordinal)
		}
		all = append(all, m)
	}
}

// mustRead reads a text that has no fault of its own.
func mustRead(t *testing.T, format Format, text string, o Options) []siding.NewMessage {
	t.Helper()
	all, err := readAll(t, format, text, o)
	require.NoError(t, err)
	return all
}

func bodies(all []siding.NewMessage) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, string(m.Body))
	}
	return out
}

func ids(all []siding.NewMessage) []string {
	out := []string{}
	for _, m := range all {
		out = append(out, m.ID)
	}
	return out
}

// causes gives the cause of each record that is set aside, and an empty one for the others.
func causes(all []siding.NewMessage) []siding.Cause {
	out := []siding.Cause{}
	for _, m := range all {
		if m.Dead == nil {
			out = append(out, "")
			continue
		}
		out = append(out, m.Dead.Cause)
	}
	return out
}

// slowly gives a text in pieces of n bytes, so that every boundary is met.
type slowly struct {
	text string
	n    int
}

func (s *slowly) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.n)], s.text)
	s.text = s.text[n:]
	return n, nil
}

// repeated gives a run of one byte.
type repeated struct {
	b byte
	n int64
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), r.n)
	p = p[:n]
	p[0] = r.b
	for filled := 1; filled < len(p); filled *= 2 {
		copy(p[filled:], p[:filled])
	}
	r.n -= n
	return int(n), nil
}
