package claude

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
	"github.com/siding-dev/siding/claudesim"
)

func response(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "Request-Id": {"req_test"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// network sets up a handler with its own client on a real connection.
func network(t *testing.T, url string, change func(*Config)) (*Handler, *fakeJournal) {
	t.Helper()
	j := newJournal()
	c := config(j, nil)
	c.BaseURL = url
	if change != nil {
		change(&c)
	}
	h := newHandler(t, c)
	t.Cleanup(h.c.HTTPClient.CloseIdleConnections)
	return h, j
}

func TestTheBytesOnTheWireAreTheBytesThatWereHashed(t *testing.T) {
	t.Parallel()
	var got []byte
	var header http.Header
	answer := message("end_turn", textBlock("ok"))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		header = r.Header
		w.Header().Set("content-type", "application/json")
		_, _ = w.Write(append([]byte(" \n"), answer...))
	}))
	defer srv.Close()
	h, j := network(t, srv.URL+"/proxy", func(c *Config) { c.EventHeader = "" })
	d := delivery("evt-1", "{\"title\":\"<&> \u2028 Dünen \\u0000\"}")
	_, f := deliver(t, h, j, d)
	require.Nil(t, f)
	p, _ := h.prepare(d.Body)
	require.Equal(t, string(h.build(p, 1024).body), string(got))
	require.Equal(t, append([]byte(" \n"), answer...), j.answers[1], "and the answer is kept to the byte")
	require.Equal(t, "Bearer sk-test-key", header.Get("Authorization"))
	require.Equal(t, "2026-10-21", header.Get("anthropic-version"))
	require.Equal(t, "application/json", header.Get("Content-Type"))
	for name, values := range header {
		require.NotContains(t, strings.Join(values, " "), "evt-1", "%s: the event ID is nobody's business", name)
	}
	for _, sampling := range []string{"temperature", "top_p", "top_k"} {
		require.NotContains(t, string(got), sampling)
	}
}

func TestNothingSentIsUnsent(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := closed.Addr().String()
	require.NoError(t, closed.Close())
	secure := httptest.NewUnstartedServer(nil)
	secure.Config.ErrorLog = nil
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for name, url := range map[string]string{
		"a refused connection": "http://" + address, "a name that does not exist": "http://nowhere.invalid",
		"an unknown certificate": secure.URL, "TLS to a server without": strings.Replace(plain.URL, "http:", "https:", 1),
	} {
		h, j := network(t, url, nil)
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.NotNil(t, f, name)
		require.Equal(t, siding.OutcomeTransient, f.Outcome, name)
		require.Equal(t, siding.CauseNetwork, f.Cause, "%s: %v", name, f)
		require.Equal(t, siding.FateUnsent, j.all()[0].Fate, name)
	}
}

// raw serves each connection with a function.
func raw(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(conn); _ = conn.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}

func readRequest(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 64<<10)
	var got []byte
	for !bytes.Contains(got, []byte(`"messages"`)) {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		got = append(got, buf[:n]...)
	}
}

func TestSentWithoutAWholeAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	whole := string(message("end_turn", textBlock("ok")))
	for name, c := range map[string]struct {
		answer string
		status int
	}{
		"closed without a word":      {"", 0},
		"closed in the headers":      {"HTTP/1.1 200 OK\r\nContent-Le", 0},
		"a body cut short":           {"HTTP/1.1 200 OK\r\nContent-Length: 900\r\nContent-Type: application/json\r\n\r\n" + whole, 200},
		"chunks without an end":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n", 200},
		"no length, and half a body": {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + whole[:60], 200},
		"something else":             {"220 mail.example.com ESMTP\r\n", 0},
		"a 400 cut short":            {"HTTP/1.1 400 Bad Request\r\nContent-Length: 900\r\n\r\n{\"type\":\"error\",", 400},
	} {
		url := raw(t, func(conn net.Conn) { readRequest(conn); _, _ = io.WriteString(conn, c.answer) })
		h, j := network(t, url, nil)
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.NotNil(t, f, name)
		require.Equal(t, siding.OutcomeTransient, f.Outcome, "%s: %v", name, f)
		require.Equal(t, siding.FateUnknown, j.all()[0].Fate, name)
		require.Equal(t, c.status, f.Status, name)
		require.Contains(t, []siding.Cause{siding.CauseNetwork, siding.CauseBadResponse, siding.CauseUnknown}, f.Cause, name)
	}
	// A 529 cut short says in its first line what to do, but not who says so.
	url := raw(t, func(conn net.Conn) {
		readRequest(conn)
		_, _ = io.WriteString(conn, "HTTP/1.1 529 x\r\nContent-Length: 900\r\n\r\n{")
	})
	h, j := network(t, url, nil)
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseOverloaded, f.Cause)
	require.Equal(t, siding.FateUnknown, j.all()[0].Fate)
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
	}))
	defer srv.Close()
	h, j := network(t, srv.URL, func(c *Config) { c.HTTPClient = srv.Client() })
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomeHeld, f.Outcome)
	require.Equal(t, siding.ScopeRecipe, f.Scope)
	require.Equal(t, int64(1), n.Load())
	require.Equal(t, siding.FateRefused, j.all()[0].Fate)
}

func TestAnEndlessAnswerIsBounded(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 500} {
		j := newJournal()
		body := io.MultiReader(strings.NewReader(`{"id":"`), zeros{})
		h := newHandler(t, config(j, &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			r := response(status, "")
			r.Body = io.NopCloser(body)
			return r, nil
		})}))
		h.maxAnswer = 100_000
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.Equal(t, siding.OutcomeTransient, f.Outcome)
		require.Less(t, len(f.Error()), 2000)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestTheKeyIsInNoError(t *testing.T) {
	t.Parallel()
	j := newJournal()
	h := newHandler(t, config(j, &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		res := response(401, `{"type":"error","error":{"type":"authentication_error","message":"`+r.Header.Get("Authorization")+` is not a key"}}`)
		res.Header.Set("request-id", "for sk-test-key")
		return res, nil
	})}))
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.CauseCredentials, f.Cause)
	require.NotContains(t, f.Error()+f.RequestID, "sk-test-key")
	require.NotContains(t, j.all()[0].Error.Text+j.all()[0].RequestID, "sk-test-key")
}

func TestTimeouts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, j, s := setup(t, func(c *Config) { c.Timeout = 7 * time.Second }, once(claudesim.Do{Fault: "stall"}))
		began := time.Now()
		_, f := deliver(t, h, j, delivery("a", dunes))
		require.Equal(t, 7*time.Second, time.Since(began))
		require.Equal(t, siding.CauseTimeout, f.Cause)
		require.Equal(t, siding.OutcomeTransient, f.Outcome)
		require.Equal(t, siding.FateUnknown, j.all()[0].Fate)
		requireBill(t, j, s)
	})
}

func TestWhoCancelsACallIsTold(t *testing.T) {
	t.Parallel()
	for cause, want := range map[error]siding.Cause{siding.ErrShutdown: siding.CauseShutdown, siding.ErrLeaseLost: siding.CauseLeaseLost} {
		synctest.Test(t, func(t *testing.T) {
			h, j, s := setup(t, nil, once(claudesim.Do{Fault: "stall"}))
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(3*time.Second, func() { cancel(cause) })
			_, err := h.Handle(ctx, delivery("a", dunes))
			f := siding.FailureOf(err)
			require.Equal(t, siding.OutcomeInterrupted, f.Outcome)
			require.Equal(t, want, f.Cause)
			require.Equal(t, siding.FateUnknown, j.all()[0].Fate, "its end was written under a context of its own")
			requireBill(t, j, s)
		})
	}
}

func TestAnAnswerThatCameBeforeTheCancellationCounts(t *testing.T) {
	t.Parallel()
	j := newJournal()
	ctx, cancel := context.WithCancelCause(t.Context())
	h := newHandler(t, config(j, &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		defer cancel(siding.ErrShutdown)
		return response(200, string(message("end_turn", textBlock("paid for")))), nil
	})}))
	res, err := h.Handle(ctx, delivery("a", dunes))
	require.NoError(t, err)
	require.Equal(t, `"paid for"`, string(res.Body))
	require.Equal(t, siding.FateAnswered, j.all()[0].Fate)
}

func TestAnUnknownTransportErrorMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	j := newJournal()
	h := newHandler(t, config(j, &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("strange") })}))
	_, f := deliver(t, h, j, delivery("a", dunes))
	require.Equal(t, siding.OutcomeTransient, f.Outcome)
	require.Equal(t, siding.FateUnknown, j.all()[0].Fate)
}
