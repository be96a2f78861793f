package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestWhere(t *testing.T) {
	t.Parallel()
	offset := int64(3)
	l := siding.Listed{
		Message: siding.Message{
			Queue: "q", ID: "a", Body: []byte(`{"title":"sunset","n":12345678901234567890,"f":1.5}`), Attempt: 2, Reason: "poison",
			Headers: map[string]string{"h": "v"}, DeadAt: time.Unix(100, 0), ReceivedAt: time.Unix(50, 0),
			LastError: &siding.LastError{Cause: "refused", Text: "no", Status: 400, FaultOffset: &offset},
		},
		Source: &siding.Source{File: "in.jsonl", Line: 7, Offset: 90},
	}
	for expr, want := range map[string]bool{
		`.body.title == "sunset"`: true, `.body.title == "dawn"`: false, `.attempt > 1`: true, `.headers.h`: true,
		`.headers.missing`: false, `.body.missing`: false, `empty`: false, `.line == 7 and .offset == 90`: true,
		`.cause == "refused" and .status == 400 and .fault_offset == 3`: true, `.dead_at - .first_received_at == 50`: true,
		`.body.n == 12345678901234567890`: true, `.body.f + 1 == 2.5`: true, `.body_text | test("sun")`: true,
		`.queue == "q" and .id == "a" and .reason == "poison" and .file == "in.jsonl"`: true,
		`(.error | length) == 2`: true, `0`: true, `.body | keys | length == 3`: true, `halt`: false,
		`$ENV | length > 0`: false, `.waits + .interruptions + .redrives + .deliveries + .priority == 0`: true,
	} {
		f, err := newFilter(expr)
		require.NoError(t, err, expr)
		got, err := f.match(context.Background(), l)
		require.NoError(t, err, expr)
		require.Equal(t, want, got, expr)
	}
	t.Run("an expression that does not parse is wrong usage", func(t *testing.T) {
		t.Parallel()
		for _, expr := range []string{".body[", "nope", "input"} {
			_, err := newFilter(expr)
			require.Equal(t, exitUsage, exitCode(err), expr)
		}
	})
	t.Run("an error on a message names what is wrong", func(t *testing.T) {
		t.Parallel()
		f, err := newFilter(`.body.title + 1`)
		require.NoError(t, err)
		_, err = f.match(context.Background(), l)
		require.ErrorContains(t, err, "cannot")
		require.False(t, isEndless(err))
	})
	t.Run("an expression without an end is stopped", func(t *testing.T) {
		t.Parallel()
		f, err := newFilter(`last(repeat(1))`)
		require.NoError(t, err)
		_, err = f.match(context.Background(), l)
		require.True(t, isEndless(err))
	})
	t.Run("a body that is no JSON is null", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{"", "{", "\xff", `{"a":"` + "\xff" + `"}`, "1 2", strings.Repeat("[", 100_000), "\x00"} {
			require.Nil(t, parseBody([]byte(body)))
			f, err := newFilter(`.body == null and (.body_text | type) == "string"`)
			require.NoError(t, err)
			ok, err := f.match(context.Background(), siding.Listed{Message: siding.Message{Body: []byte(body)}})
			require.NoError(t, err)
			require.True(t, ok)
		}
		require.NotNil(t, parseBody([]byte(" 1e999 ")))
	})
}

func TestSelection(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	t.Run("times are absolute or ago", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]time.Time{
			"2h": now.Add(-2 * time.Hour), "3d": now.Add(-72 * time.Hour), "1d12h": now.Add(-36 * time.Hour), "0s": now,
			"2026-01-31T15:04:05+02:00": time.Date(2026, 1, 31, 13, 4, 5, 0, time.UTC),
			"2026-01-31":                time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		} {
			got, err := parseMoment("--since", text, now)
			require.NoError(t, err, text)
			require.True(t, want.Equal(got), text)
		}
		for _, text := range []string{"yesterday", "-2h", "3", "d", "-3d", "99999999d", "2h3d"} {
			_, err := parseMoment("--since", text, now)
			require.Equal(t, exitUsage, exitCode(err), text)
		}
	})
	t.Run("what is given is selected among the dead", func(t *testing.T) {
		t.Parallel()
		s := selectFlags{queue: "q", ids: []string{"a,b"}, causes: []string{"refused"}, reasons: []string{"poison"}, since: "1h", where: "true"}
		sel, err := s.resolve(now)
		require.NoError(t, err)
		require.Equal(t, siding.Selection{
			Queue: "q", IDs: []string{"a,b"}, States: []siding.State{siding.StateDead}, Causes: []siding.Cause{"refused"},
			Reasons: []siding.Reason{"poison"}, Since: now.Add(-time.Hour), Bodies: true,
		}, sel.Selection)
		require.False(t, s.empty())
		require.True(t, (&selectFlags{}).empty())
	})
	t.Run("an empty value is no selection of everything", func(t *testing.T) {
		t.Parallel()
		for _, s := range []selectFlags{{ids: []string{""}}, {causes: []string{""}}, {fingerprints: []string{""}}, {reasons: []string{"nope"}}} {
			_, err := s.resolve(now)
			require.Equal(t, exitUsage, exitCode(err))
		}
	})
	t.Run("rates", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]float64{"": 0, "10/s": 10, "0.5/s": 0.5, "60/m": 1, "1/h": 1.0 / 3600} {
			got, err := parseRate(text)
			require.NoError(t, err, text)
			require.InDelta(t, want, got, 1e-12, text)
		}
		for _, text := range []string{"10", "0/s", "-1/s", "x/s", "1/d", "NaN/s", "Inf/s", "1/s1"} {
			_, err := parseRate(text)
			require.Equal(t, exitUsage, exitCode(err), text)
		}
	})
}
