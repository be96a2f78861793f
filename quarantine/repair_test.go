package quarantine_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
)

// repair reads repairs that must be right.
func repair(t require.TestingT, texts ...string) quarantine.Repairs {
	list, err := quarantine.ParseRepairs(texts)
	require.NoError(t, err)
	return list
}

// mended applies repairs to a body that they must fit.
func mended(t require.TestingT, body string, texts ...string) string {
	d, err := repair(t, texts...).Apply(context.Background(), quarantine.Draft{Body: []byte(body)})
	require.NoError(t, err)
	return string(d.Body)
}

func TestEachWrongRepairIsNamed(t *testing.T) {
	t.Parallel()
	_, err := quarantine.ParseRepairs([]string{"strip-invalid-utf8", "strip", "strip-invalid-utf8:now", "replace-invalid-utf8:"})
	require.ErrorContains(t, err, `"strip" is no repair; the repairs are `)
	require.ErrorContains(t, err, `the repair strip-invalid-utf8: it takes no arguments`)
	require.ErrorContains(t, err, `the repair replace-invalid-utf8: nothing stands after the colon`)
}

func TestInvalidBytesAreStrippedOrReplaced(t *testing.T) {
	t.Parallel()
	require.Equal(t, "ab", mended(t, "a\xff\xfeb", "strip-invalid-utf8"))
	require.Equal(t, "a\uFFFDb\uFFFD", mended(t, "a\xff\xfeb\xc3", "replace-invalid-utf8"))
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		given := string(body)
		for _, name := range []string{"strip-invalid-utf8", "replace-invalid-utf8"} {
			once := mended(t, given, name)
			require.True(t, utf8.ValidString(once))
			require.Equal(t, once, mended(t, once, name))
			if utf8.Valid(body) {
				require.Equal(t, given, once)
			}
		}
		require.Equal(t, given, string(body))
	})
}

func TestAPreviewSaysWhatRepairsComeTo(t *testing.T) {
	t.Parallel()
	m := siding.Message{ID: "a", Body: []byte("{\"a\":\"x\xff\"}"), Headers: map[string]string{"h": "1"}}
	strip := repair(t, "strip-invalid-utf8")

	p := strip.Preview(t.Context(), m, quarantine.Facts{})
	require.Equal(t, quarantine.Changed, p.Verdict)
	require.Equal(t, `{"a":"x"}`, string(p.After.Body))
	require.Equal(t, siding.Return{ID: "a", From: sha256.Sum256(m.Body), Body: []byte(`{"a":"x"}`), Note: "strip-invalid-utf8"}, p.Return("a", strip))

	p = quarantine.Repairs(nil).Preview(t.Context(), m, quarantine.Facts{})
	require.Equal(t, quarantine.Changed, p.Verdict, "without repairs it may be sent as it is")
	require.Equal(t, siding.Return{ID: "a", From: sha256.Sum256(m.Body)}, p.Return("a", nil))

	m.Body = []byte(`{"a":1}`)
	require.Equal(t, quarantine.Unchanged, strip.Preview(t.Context(), m, quarantine.Facts{}).Verdict)

	m.Body = []byte("{\"a\xff")
	p = strip.Preview(t.Context(), m, quarantine.Facts{})
	require.Equal(t, quarantine.Invalid, p.Verdict)
	require.Equal(t, "the result is not valid JSON", p.Problem)
	m.ContentType = "text/plain"
	require.Equal(t, quarantine.Changed, strip.Preview(t.Context(), m, quarantine.Facts{}).Verdict)

	facts := quarantine.Facts{Check: func(m siding.Message) *siding.Failure {
		require.Equal(t, `{"a`, string(m.Body))
		return &siding.Failure{Cause: siding.CauseEmptyInput, Err: errors.New("nothing \x1b is there")}
	}}
	p = strip.Preview(t.Context(), m, facts)
	require.Equal(t, quarantine.Invalid, p.Verdict)
	require.Equal(t, `the result would be set aside again (empty-input): nothing \x1b is there`, p.Problem)
	facts.Check = func(siding.Message) *siding.Failure { panic("oh") }
	require.Contains(t, strip.Preview(t.Context(), m, facts).Problem, "check panicked: oh")
}

// own is a repair of somebody else's.
type own struct{ panics bool }

func (o own) String() string { return "own" }

func (o own) Apply(_ context.Context, d quarantine.Draft) (quarantine.Draft, error) {
	if o.panics {
		panic("oh\x1b")
	}
	d.Body = []byte{}
	d.ContentType = "text/plain"
	return d, nil
}

func TestRepairsCanBeAdded(t *testing.T) {
	t.Parallel()
	parse := func(args string) (quarantine.Repair, error) {
		switch args {
		case "panic":
			panic("no")
		case "nothing":
			return nil, nil //nolint:nilnil // which is refused
		}
		return own{panics: args == "late"}, nil
	}
	require.NoError(t, quarantine.RegisterRepair("own-repair", parse))
	require.ErrorContains(t, quarantine.RegisterRepair("own-repair", parse), "already")
	require.ErrorContains(t, quarantine.RegisterRepair("strip-invalid-utf8", parse), "already")
	require.ErrorContains(t, quarantine.RegisterRepair("Own", parse), "is no name")
	require.ErrorContains(t, quarantine.RegisterRepair("other", nil), "nothing that reads it")
	require.Contains(t, quarantine.RepairNames(), "own-repair")

	_, err := quarantine.ParseRepair("own-repair:panic")
	require.ErrorContains(t, err, "panicked")
	_, err = quarantine.ParseRepair("own-repair:nothing")
	require.ErrorContains(t, err, "gave nothing")
	_, err = repair(t, "own-repair:late").Apply(t.Context(), quarantine.Draft{})
	require.ErrorContains(t, err, `own panicked: oh\x1b`)

	m := siding.Message{ID: "a", Body: []byte("x"), ContentType: "text/plain"}
	r := repair(t, "own-repair")
	p := r.Preview(t.Context(), m, quarantine.Facts{})
	require.Equal(t, quarantine.Changed, p.Verdict)
	require.Equal(t, []byte{}, p.Return("a", r).Body)
	m.ContentType = "text/html"
	require.Contains(t, r.Preview(t.Context(), m, quarantine.Facts{}).Problem, "it cannot be changed")

	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			_, _ = quarantine.ParseRepair("own-repair")
			_ = quarantine.RegisterRepair("own-repair", parse)
		})
	}
	all.Wait()
}
