package claudesim_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

func TestTheControlsOverHTTP(t *testing.T) {
	w := ways(t, "faults: [{name: broke, do: {fault: error, id: credit}}]")[0]
	call := func(method, path, body string, more map[string]string) exchange {
		return do(w.client, method, w.url+path, body, more)
	}
	require.Equal(t, 400, status(t, w.post(ask("x"))))

	bad := call("POST", "/sim/profile", "seed: 1\nspeed: 2\n", nil)
	require.Equal(t, 400, bad.status)
	require.Contains(t, bad.body, `"line":2`)
	require.Equal(t, 400, call("POST", "/sim/profile?name=perfect", "", nil).status)
	require.Equal(t, 400, status(t, w.post(ask("x"))), "a bad profile changes nothing")

	require.Equal(t, 204, call("POST", "/sim/profile?name=clean", "", nil).status)
	require.Equal(t, 200, status(t, w.post(ask("x"))))
	require.Equal(t, 204, call("POST", "/sim/profile", "faults: [{do: {fault: empty}}]", nil).status)
	require.Empty(t, w.post(ask("x")).message(t).Content)

	var m claudesim.Meter
	require.NoError(t, json.Unmarshal([]byte(call("GET", "/sim/meter", "", nil).body), &m))
	require.Equal(t, int64(4), m.Totals.Calls)
	require.Equal(t, int64(2), m.Totals.Billed)
	require.Equal(t, int64(1), m.Totals.Acceptable)
	require.Equal(t, int64(2), m.Faults["broke"])
	require.Equal(t, w.server.Meter().Totals.CostPico, m.Totals.CostPico)

	lines := strings.Split(strings.TrimSpace(call("GET", "/sim/calls", "", nil).body), "\n")
	require.Len(t, lines, 4)
	var c claudesim.Call
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &c))
	require.Equal(t, "broke", c.Fault)
	require.Equal(t, 400, c.Status)
	require.NotContains(t, lines[0], "test-key", "credentials are not logged")

	crossing := call("POST", "/sim/reset", "", map[string]string{"Origin": "http://elsewhere.test"})
	require.Equal(t, 403, crossing.status, "a page from elsewhere controls nothing")
	require.Equal(t, 204, call("POST", "/sim/reset", "", nil).status)
	require.Zero(t, w.server.Meter().Totals.Calls)
	require.Empty(t, call("GET", "/sim/calls", "", nil).body)
}
