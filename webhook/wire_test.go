package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func nothing(t *testing.T) *log.Logger {
	t.Helper()
	return log.New(io.Discard, "", 0)
}

// raw is a server that says the same to everybody, whatever it is asked, and hangs up.
func raw(t *testing.T, text string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write([]byte(text))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return "http://" + l.Addr().String()
}

func TestItSpeaksHTTP2AndTrustsWhatItIsToldTo(t *testing.T) {
	t.Parallel()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(r.remember(says(200, `"ok"`)))
	r.EnableHTTP2 = true
	r.StartTLS()
	defer r.Close()
	pool := x509.NewCertPool()
	pool.AddCert(r.Certificate())
	c := to(r)
	c.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	res, f := handle(t, c)
	require.Nil(t, f, "%v", f)
	require.Equal(t, `"ok"`, string(res.Body))
	require.Equal(t, "evt-1", r.requests()[0].header.Get("Idempotency-Key"))
	require.Equal(t, body, r.requests()[0].body)
}

func TestSettingsForModelsAreNotSentOn(t *testing.T) {
	t.Parallel()
	r := serve(t, says(http.StatusOK, "ok"))
	d := delivery("evt-1")
	d.Headers = map[string]string{siding.HeaderModel: "m", siding.HeaderMaxTokens: "7", siding.HeaderInstruction: "secret-like", "x-own": "y"}
	_, err := newHandler(t, to(r)).Handle(t.Context(), d)
	require.NoError(t, err)
	for name, values := range r.requests()[0].header {
		require.NotContains(t, strings.ToLower(name), "siding-")
		require.NotContains(t, strings.Join(values, " "), "secret-like")
	}
}
