package quarantine_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/quarantine"
	"github.com/siding-dev/siding/recipe"
)

// facts gives what a recipe of the examples knows.
func facts(t *testing.T, file string) quarantine.Facts {
	t.Helper()
	r, err := recipe.Load(file)
	require.NoError(t, err)
	f, err := r.FactsAlone()
	require.NoError(t, err)
	return f
}

func lines(t *testing.T, file string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
}

// faults shows the faults that were found, as check/code and pointer.
func faults(list []quarantine.Finding) (shown []string) {
	for _, f := range list {
		if f.Fault {
			text := f.Check + "/" + f.Code
			if f.Pointer != nil {
				text += " " + *f.Pointer
			}
			shown = append(shown, text)
		}
	}
	return shown
}

func TestDiag(t *testing.T) {
	f := facts(t, "../examples/wallpapers/recipe.yaml")
	ls := lines(t, "../examples/wallpapers/metadata.jsonl")
	for _, i := range []int{61, 187, 302, 418, 493} {
		m := siding.Message{ID: "x", Body: ls[i]}
		if fail := f.Check(m); fail != nil {
			m.LastError = fail.Stored()
		}
		list := quarantine.Diagnose(t.Context(), quarantine.Subject{Message: m}, f)
		for _, x := range list {
			p := "-"
			if x.Pointer != nil {
				p = *x.Pointer
			}
			off := int64(-1)
			if x.Offset != nil {
				off = *x.Offset
			}
			t.Logf("%d %s/%s fault=%v %s @%d %d:%d %s %q", i, x.Check, x.Code, x.Fault, p, off, x.Line, x.Column, x.Text, x.Repairs)
		}
		s := quarantine.Suggest(list)
		r, err := quarantine.ParseRepairs(s)
		require.NoError(t, err)
		p := r.Preview(context.Background(), m, f)
		t.Logf("=> %q %s %s", s, p.Verdict, p.Problem)
	}
	_ = slices.Sorted[string]
	_ = filepath.Join
	_ = strings.ToLower
}
