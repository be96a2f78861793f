package claudesim

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

type stepKind int

const (
	stepWait   stepKind = iota // time passes
	stepBill                   // the work is done and charged
	stepHead                   // status and headers go out
	stepBody                   // some bytes go out
	stepCut                    // the connection is closed
	stepReset                  // the connection is reset, or was never accepted
	stepEnd                    // everything went out
	stepClosed                 // there was nobody left to send to
)

// forever is a wait that only the client's leaving ends.
const forever = time.Duration(math.MaxInt64)

type step struct {
	kind stepKind
	wait time.Duration
	data []byte
}

// A script is everything that will happen on one connection, decided before the first byte is sent. It knows nothing
// of sockets, so that a test in one process and a client over the network meet the same.
type script struct {
	status int
	header http.Header
	steps  []step
	call   *Call
	reply  *reply
	query  *request
	fits   bool // if all of it goes out, the client has an answer to take
	// leaveBilled says that the work goes on and is charged when the client leaves before its end.
	leaveBilled bool
	counted     bool // the call takes one of the concurrent places
}

func (s *script) add(kind stepKind) { s.steps = append(s.steps, step{kind: kind}) }

func (s *script) wait(d time.Duration) {
	if d > 0 {
		s.steps = append(s.steps, step{kind: stepWait, wait: d})
	}
}

func (s *script) write(data []byte) { s.steps = append(s.steps, step{kind: stepBody, data: data}) }

// work adds the time that the reply takes, and its bill.
func (s *script) work(latency time.Duration, abandoned bool) {
	s.wait(latency)
	if s.reply.billed {
		s.add(stepBill)
		s.leaveBilled = abandoned
	}
}

// whole sends a document with its true length, or less of it.
func (s *script) whole(body []byte, part int) {
	s.header.Set("Content-Length", strconv.Itoa(len(body)))
	s.add(stepHead)
	s.write(body[:part])
}

// setHeaders completes the headers of a reply.
func (s *script) setHeaders(requestID string, extra map[string]string) {
	s.header = s.reply.header.Clone()
	s.status = s.reply.status
	if s.header.Get("Content-Type") == "" {
		s.header.Set("Content-Type", "application/json")
	}
	if s.header.Get("Content-Type") != "text/html" {
		s.header.Set("request-id", requestID)
		s.header.Set("anthropic-organization-id", "00000000-0000-4000-8000-000000000000")
	}
	for name, value := range extra {
		s.header.Set(name, value)
	}
}
