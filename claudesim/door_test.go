package claudesim_test

import (
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding/claudesim"
)

// In an outage the port is really closed, for new connections and for those that were kept, and opens again.
func TestAnOutageClosesThePort(t *testing.T) {
	s := claudesim.Serve(t, parse(t, "faults: [{name: down, when: {from: 100ms, until: 400ms, since: first_call}, do: {fault: refuse}}]"))
	require.NoError(t, s.ListenAdmin("127.0.0.1:0"))
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	w := way{server: s, client: client, url: s.URL()}
	time.Sleep(120 * time.Millisecond)
	begun := time.Now()
	require.Equal(t, 200, status(t, w.post(ask("x"))), "the window counts from the first call")
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err == nil {
			_ = conn.Close()
		}
		return err != nil && strings.Contains(err.Error(), syscall.ECONNREFUSED.Error())
	}, 5*time.Second, 5*time.Millisecond)
	require.Error(t, w.post(ask("x")).err)
	require.Equal(t, 200, do(client, "GET", s.AdminURL()+"/sim/meter", "", nil).status, "the controls stay open")
	require.Eventually(t, func() bool { e := w.post(ask("x")); return e.err == nil && e.status == 200 }, 5*time.Second, 10*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(begun), 390*time.Millisecond)
}

func TestAnEndlessOutageEndsWithAnotherProfile(t *testing.T) {
	s := claudesim.Serve(t, parse(t, "faults: [{when: {from: 0s}, do: {fault: refuse}}]"))
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	w := way{server: s, client: client, url: s.URL()}
	require.Eventually(t, func() bool {
		return w.post(ask("x")).err != nil
	}, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, s.SetProfile(nil))
	require.Eventually(t, func() bool { return w.post(ask("x")).status == 200 }, 5*time.Second, 5*time.Millisecond)
}

func TestAServerListensOnLoopbackUnlessToldOtherwise(t *testing.T) {
	s, err := claudesim.New(nil, claudesim.Options{})
	require.NoError(t, err)
	require.Empty(t, s.URL())
	require.NoError(t, s.Listen(":0"))
	require.True(t, strings.HasPrefix(s.URL(), "http://127.0.0.1:"), s.URL())
	require.Error(t, s.Listen(":0"), "it listens already")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "closing twice does no harm")
	_, err = http.Get(s.URL() + "/v1/models")
	require.Error(t, err)
}

func TestClosingEndsCallsThatAreUnderWay(t *testing.T) {
	s, err := claudesim.Start(parse(t, "faults: [{do: {fault: stall}}]"), claudesim.Options{})
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	done := make(chan exchange)
	go func() { done <- do(client, "POST", s.URL()+"/v1/messages", ask("x"), nil) }()
	require.Eventually(t, func() bool { return s.Meter().Totals.Calls == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, s.Close())
	require.Error(t, (<-done).err)
}

// In a bubble of virtual time everything that waits works through the transport, and takes no time.
func TestTheTransportWorksInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := claudesim.New(parse(t, `
latency: {fixed: 10s, per_output_token: 100ms}
limits: {requests: 2/min}
faults:
  - {when: {text: hangs}, do: {fault: stall}}
  - {name: down, when: {from: 10m, until: 20m}, do: {fault: refuse}}
`), claudesim.Options{})
		require.NoError(t, err)
		w := way{server: s, client: &http.Client{Transport: s.Transport(), Timeout: 5 * time.Minute}, url: "http://claude.test"}
		begun := time.Now()
		m := w.post(ask("a harbor")).message(t)
		require.Equal(t, 10*time.Second+time.Duration(m.Usage.Output)*100*time.Millisecond, time.Since(begun))

		begun = time.Now()
		var late *url.Error
		require.ErrorAs(t, w.post(ask("it hangs")).err, &late)
		require.True(t, late.Timeout())
		require.Equal(t, 5*time.Minute, time.Since(begun))

		require.Equal(t, 200, status(t, w.post(ask("one"))))
		require.Equal(t, 200, status(t, w.post(ask("two"))))
		throttled := w.post(ask("three"))
		require.Equal(t, 429, throttled.status)
		require.NotEmpty(t, throttled.header.Get("retry-after"))
		wait, err := time.ParseDuration(throttled.header.Get("retry-after") + "s")
		require.NoError(t, err)
		time.Sleep(wait)
		require.Equal(t, 200, status(t, w.post(ask("three"))))

		time.Sleep(10 * time.Minute)
		require.ErrorIs(t, w.post(ask("x")).err, syscall.ECONNREFUSED)
		var refused *net.OpError
		require.ErrorAs(t, w.post(ask("x")).err, &refused)
		time.Sleep(10 * time.Minute)
		require.Equal(t, 200, status(t, w.post(ask("x"))))
	})
}

func TestConcurrentCallsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := claudesim.New(parse(t, "latency: {fixed: 1s}\nlimits: {concurrency: 3}"), claudesim.Options{})
		require.NoError(t, err)
		w := way{server: s, client: s.Client(), url: "http://claude.test"}
		codes := make(chan int, 5)
		for range 5 {
			go func() { codes <- w.post(ask("x")).status }()
		}
		count := map[int]int{}
		for range 5 {
			count[<-codes]++
		}
		require.Equal(t, map[int]int{200: 3, 429: 2}, count)
		require.Equal(t, 200, status(t, w.post(ask("x"))), "places are given back")
	})
}
