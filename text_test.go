package siding_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/siding-dev/siding"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestScrubbedTextIsValidHarmlessAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(
			rapid.String(),
			rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 200), func(b []byte) string { return string(b) }),
			rapid.SampledFrom([]string{"\x00", "\x1b[31m", "\u202e", "\u2028", "\xff\xfe", "\xed\xa0\x80", "😀", "é", strings.Repeat("\x00", 300)}),
		)).Draw(t, "parts")
		limit := rapid.IntRange(0, 600).Draw(t, "limit")
		s := strings.Join(parts, "")
		got := siding.Scrub(s, limit)
		require.True(t, utf8.ValidString(got))
		require.LessOrEqual(t, len(got), max(limit, 64))
		for _, bad := range []string{"\x00", "\x1b", "\r", "\x7f", "\u0085", "\u202e", "\u2028"} {
			require.NotContains(t, got, bad)
		}
	})
}

func TestScrubKeepsPlainTextAndShowsTheRest(t *testing.T) {
	t.Parallel()
	require.Equal(t, "naïve 日本語 😀\tx\ny", siding.Scrub("naïve 日本語 😀\tx\ny", 1000))
	require.Equal(t, `a\x00b\xffc\x1b[0m\u202e`, siding.Scrub("a\x00b\xffc\x1b[0m\u202e", 1000))
	long := siding.Scrub("begin "+strings.Repeat("é", 10_000)+" end", 300)
	require.True(t, strings.HasPrefix(long, "begin é"))
	require.True(t, strings.HasSuffix(long, "é end"))
	require.Contains(t, long, "bytes left out")
	require.LessOrEqual(t, len(siding.Scrub(strings.Repeat("\xff", 50<<20), siding.MaxErrorText)), siding.MaxErrorText)
}

func TestEventIDs(t *testing.T) {
	t.Parallel()
	for _, ok := range []string{"1", "evt-42", "é😀", strings.Repeat("x", 512), "12345678901234567890", "a b"} {
		require.NoError(t, siding.CheckID(ok))
	}
	for _, bad := range []string{"", strings.Repeat("x", 513), "a\x00", "a\n", "\xff", "\u202e", "\x7f"} {
		require.ErrorIs(t, siding.CheckID(bad), siding.ErrInvalidID)
	}
}

type panicking struct{}

func (panicking) Error() string      { panic("cannot be shown") }
func (panicking) Is(error) bool      { panic("cannot be compared") }
func (panicking) As(any) bool        { panic("cannot be cast") }
func (panicking) Unwrap() error      { panic("cannot be unwrapped") }
func (p panicking) String() string   { panic("no") }
func (p panicking) GoString() string { panic("no") }

func TestRecordingAFailureCannotFail(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"an error that panics":        panicking{},
		"a wrapped error that panics": fmt.Errorf("outer: %w", error(nilPointer())),
		"NUL and invalid UTF-8":       errors.New("a\x00\xff"),
		"megabytes":                   errors.New(strings.Repeat("x", 20<<20)),
		"a marked one that panics":    siding.Permanent(panicking{}),
		"a failure without an error":  &siding.Failure{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := siding.FailureOf(err)
			require.NotEmpty(t, f.Outcome)
			stored := f.Stored()
			require.True(t, utf8.ValidString(stored.Text))
			require.LessOrEqual(t, len(stored.Text), siding.MaxErrorText)
			require.NotEmpty(t, stored.Cause)
			require.NotEmpty(t, stored.Fingerprint)
		})
	}
}

type pointerError struct{ text string }

func (p *pointerError) Error() string { return p.text }

// nilPointer gives an error that is not nil and whose Error method fails.
func nilPointer() *pointerError { return nil }

func TestErrorsAreClassified(t *testing.T) {
	t.Parallel()
	base := errors.New("base")
	require.Nil(t, siding.FailureOf(nil))
	require.NoError(t, siding.Transient(nil))
	require.NoError(t, siding.Permanent(nil))
	require.NoError(t, siding.Gray(nil))
	require.NoError(t, siding.Held(siding.ScopeLane, nil))
	require.NoError(t, siding.After(nil, time.Second))
	require.Equal(t, siding.OutcomeTransient, siding.FailureOf(base).Outcome, "unknown failures are transient")
	require.Equal(t, siding.CauseTimeout, siding.FailureOf(fmt.Errorf("x: %w", context.DeadlineExceeded)).Cause)
	for outcome, err := range map[siding.Outcome]error{
		siding.OutcomeTransient: siding.Transient(base), siding.OutcomePermanent: siding.Permanent(base),
		siding.OutcomeGray: siding.Gray(base), siding.OutcomeHeld: siding.Held(siding.ScopeAccount, base),
	} {
		wrapped := fmt.Errorf("while sending: %w", err)
		require.Equal(t, outcome, siding.FailureOf(wrapped).Outcome)
		require.ErrorIs(t, wrapped, base)
	}
	f := siding.FailureOf(siding.After(siding.Permanent(base), time.Minute))
	require.Equal(t, time.Minute, f.RetryAfter)
	require.Equal(t, siding.OutcomePermanent, f.Outcome)
	require.Equal(t, siding.OutcomeTransient, siding.FailureOf(&siding.Failure{Outcome: siding.OutcomeDone}).Outcome)
}

func TestMoneyDoesNotWrapRound(t *testing.T) {
	t.Parallel()
	require.Equal(t, siding.Money(math.MaxInt64), siding.Money(math.MaxInt64-1).Add(5))
	require.Equal(t, siding.Money(math.MinInt64), siding.Money(math.MinInt64+1).Add(-5))
	require.Equal(t, 3*siding.USD, siding.USD.Add(2*siding.USD))
	require.Equal(t, "$1.250000", (siding.USD + siding.USD/4).String())
}
