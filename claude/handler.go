package claude

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/siding-dev/siding"
)

// Handler asks Claude for each message. It is a [siding.Handler], and may be used by many goroutines at once.
type Handler struct {
	c Config
}

// New checks a configuration, all of it at once, and makes a handler.
func New(c Config) (*Handler, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &Handler{c: c}, nil
}

func (h *Handler) Handle(ctx context.Context, d *siding.Delivery) (siding.Result, error) {
	return siding.Result{}, errors.ErrUnsupported
}
func (h *Handler) Digest() string { return "" }
func (h *Handler) Lane() string   { return "claude/" + h.c.Model }
func (h *Handler) Rejudge(ctx context.Context, m siding.Message, calls []siding.Call) (j siding.Judgement, result []byte, ok bool, err error) {
	return j, nil, false, nil
}
func (h *Handler) Estimate(m siding.Message) (likely, worst siding.Money, priced bool) { return }
func Classify(err error) *siding.Failure                                               { return nil }
func ClassifyResponse(status int, header http.Header, body []byte) *siding.Failure     { return nil }
func Accept(m *anthropic.Message) error                                                { return nil }

func newHTTPClient(d time.Duration) *http.Client      { return &http.Client{Timeout: d} }
func dontFollow(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
