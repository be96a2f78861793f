package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/siding-dev/siding"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const body = `{"id": "7"}`

// receiver is a service on this machine that answers as the test says, and remembers what it was sent.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen []request
}

type request struct {
	method, path, body string
	header             http.Header
}

func serve(t *testing.T, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(r.remember(answer))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) remember(answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.seen = append(r.seen, request{req.Method, req.URL.String(), string(text), req.Header.Clone()})
		r.mu.Unlock()
		answer(w, req)
	}
}

func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.seen...)
}

func says(status int, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent {
			_, _ = w.Write([]byte(text))
		}
	}
}

func newHandler(t *testing.T, c Config) *Handler {
	t.Helper()
	h, err := New(c)
	require.NoError(t, err)
	t.Cleanup(h.Close)
	return h
}

// to is a configuration that reaches a service on this machine.
func to(r *receiver) Config { return Config{URL: r.URL + "/hook", AllowPrivate: true} }

func delivery(id string) *siding.Delivery {
	return &siding.Delivery{Message: siding.Message{Queue: "q", ID: id, Body: []byte(body)}, Number: 1}
}

func handle(t *testing.T, c Config) (siding.Result, *siding.Failure) {
	t.Helper()
	res, err := newHandler(t, c).Handle(t.Context(), delivery("evt-1"))
	return res, siding.FailureOf(err)
}
