package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const passing = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Test":"TestGood","Output":"    a_test.go:1: chatter\n"}
{"Action":"pass","Package":"m/a","Test":"TestGood"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
`

const skipping = `{"Action":"output","Package":"m/b","Test":"TestNode","Output":"=== RUN   TestNode\n"}
{"Action":"output","Package":"m/b","Test":"TestNode","Output":"    b_test.go:1: npm is missing\n"}
{"Action":"output","Package":"m/b","Test":"TestNode","Output":"--- SKIP: TestNode (0.00s)\n"}
{"Action":"skip","Package":"m/b","Test":"TestNode"}
{"Action":"output","Package":"m/b","Output":"ok  \tm/b\t0.1s\n"}
{"Action":"pass","Package":"m/b"}
`

const failing = `{"Action":"output","Package":"m/c","Test":"TestBad","Output":"    c_test.go:9: want 1, got 2\n"}
{"Action":"fail","Package":"m/c","Test":"TestBad"}
{"Action":"output","Package":"m/c","Test":"TestStuck","Output":"goroutine 7 [running]\n"}
{"Action":"output","Package":"m/c","Output":"FAIL\tm/c\t0.1s\n"}
{"Action":"fail","Package":"m/c"}
`

func show(t *testing.T, events string, noSkips bool) (string, bool) {
	t.Helper()
	var out bytes.Buffer
	r, err := read(strings.NewReader(events), &out)
	require.NoError(t, err)
	ok := r.conclude(&out, noSkips)
	return out.String(), ok
}

func TestWhatPassedIsOneLineForEachPackage(t *testing.T) {
	t.Parallel()
	out, ok := show(t, passing, true)
	require.True(t, ok)
	require.Equal(t, "ok  \tm/a\t0.1s\n", out)
}

func TestWhatIsSkippedIsNamedAndFailsOnlyOnDemand(t *testing.T) {
	t.Parallel()
	out, ok := show(t, passing+skipping, false)
	require.True(t, ok)
	require.Contains(t, out, "TestNode in m/b: b_test.go:1: npm is missing")
	_, ok = show(t, passing+skipping, true)
	require.False(t, ok)
}

func TestWhatFailedIsShownWithAllThatItSaid(t *testing.T) {
	t.Parallel()
	out, ok := show(t, passing+failing, false)
	require.False(t, ok)
	for _, want := range []string{"want 1, got 2", "goroutine 7", "FAIL\tm/c"} {
		require.Contains(t, out, want)
	}
	require.NotContains(t, out, "chatter")
}

func TestADataRaceIsShownAlsoWhereTheTestPassed(t *testing.T) {
	t.Parallel()
	out, _ := show(t, strings.Replace(passing, "chatter", "WARNING: DATA RACE", 1), false)
	require.Contains(t, out, "WARNING: DATA RACE")
}

func TestABuildThatFailsAndNothingAtAllAreFailures(t *testing.T) {
	t.Parallel()
	out, ok := show(t, passing+`{"ImportPath":"m/d","Action":"build-output","Output":"d.go:1: syntax error\n"}`+"\n"+
		`{"ImportPath":"m/d","Action":"build-fail"}`+"\n", false)
	require.False(t, ok)
	require.Contains(t, out, "d.go:1: syntax error")
	_, ok = show(t, "", false)
	require.False(t, ok)
	out, ok = show(t, "go: cannot find main module\n", false)
	require.False(t, ok)
	require.Contains(t, out, "cannot find main module")
}
