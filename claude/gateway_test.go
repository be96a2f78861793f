package claude

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestAGatewayThatGaveUpLeavesTheBillUnknown(t *testing.T) {
	t.Parallel()
	h := newHandler(t, config(nil, nil))
	own := func(kind string) string {
		return `{"type":"error","error":{"type":"` + kind + `","message":"no"},"request_id":"req_1"}`
	}
	for name, c := range map[string]struct {
		status  int
		body    string
		cut     error
		fate    siding.Fate
		outcome siding.Outcome
	}{
		"500 of the service":          {500, own("api_error"), nil, siding.FateRefused, siding.OutcomeTransient},
		"502 of the service":          {502, own("api_error"), nil, siding.FateRefused, siding.OutcomeTransient},
		"503 of the service":          {503, own("api_error"), nil, siding.FateRefused, siding.OutcomeTransient},
		"529 of the service":          {529, own("overloaded_error"), nil, siding.FateRefused, siding.OutcomeHeld},
		"504 of the service":          {504, own("timeout_error"), nil, siding.FateUnknown, siding.OutcomeTransient},
		"524 in the service's form":   {524, own("api_error"), nil, siding.FateUnknown, siding.OutcomeTransient},
		"502 as a page":               {502, "<html>502 Bad gateway</html>", nil, siding.FateUnknown, siding.OutcomeTransient},
		"520 as a page":               {520, "<html>", nil, siding.FateUnknown, siding.OutcomeTransient},
		"522 without a body":          {522, "", nil, siding.FateUnknown, siding.OutcomeTransient},
		"523 as text":                 {523, "origin is unreachable", nil, siding.FateUnknown, siding.OutcomeTransient},
		"503 as another service's":    {503, `{"error":"no healthy upstream"}`, nil, siding.FateUnknown, siding.OutcomeTransient},
		"503 in an alike form":        {503, `{"error":{"type":"x","message":"y"}}`, nil, siding.FateUnknown, siding.OutcomeTransient},
		"500 cut short":               {500, own("api_error")[:40], errors.New("cut"), siding.FateUnknown, siding.OutcomeTransient},
		"500 whole, and then cut":     {500, own("api_error"), errors.New("cut"), siding.FateUnknown, siding.OutcomeTransient},
		"413 as a page of a proxy":    {413, "<html>too large</html>", nil, siding.FateRefused, siding.OutcomePermanent},
		"429 as a page of a proxy":    {429, "<html>slow down</html>", nil, siding.FateRefused, siding.OutcomeHeld},
		"408 of something in the way": {408, "", nil, siding.FateRefused, siding.OutcomeTransient},
		"a redirect, not followed":    {307, "", nil, siding.FateRefused, siding.OutcomeHeld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			end, _, f := h.conclude(reply{status: c.status, header: http.Header{}, body: []byte(c.body), err: c.cut, sent: true}, time.Now())
			require.NotNil(t, f)
			require.Equal(t, c.fate, end.Fate)
			require.Equal(t, c.outcome, f.Outcome)
			require.Equal(t, c.status, f.Status)
		})
	}
}
