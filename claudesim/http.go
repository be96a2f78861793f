package claudesim

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
)

// ServeHTTP serves the API under /v1/ and the controls under /sim/. Cut connections need a server that lets the
// handler panic with http.ErrAbortHandler, as net/http does.
func (s *Server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if strings.HasPrefix(req.URL.Path, "/sim/") {
		s.admin.ServeHTTP(w, req)
		return
	}
	body, tooLarge, err := readBody(req.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the client left while it was still sending: there was no call
	}
	p := &player{server: s, script: s.decide(req.Method, req.URL.Path, req.Header, body, tooLarge)}
	defer p.end(false)
	control := http.NewResponseController(w)
	for {
		switch st := p.next(req.Context()); st.kind {
		case stepHead:
			for name, values := range p.script.header {
				w.Header()[http.CanonicalHeaderKey(name)] = values
			}
			w.WriteHeader(p.script.status)
		case stepBody:
			_, err := w.Write(st.data)
			if err == nil {
				err = control.Flush()
			}
			if err != nil {
				p.retract()
				panic(http.ErrAbortHandler)
			}
		case stepReset:
			reset(control)
			panic(http.ErrAbortHandler)
		case stepCut, stepClosed:
			panic(http.ErrAbortHandler)
		default:
			return
		}
	}
}

// readBody reads a body up to what the service takes, and throws away a little more, so that a client which is still
// sending gets to read why it was refused.
func readBody(r io.Reader) (body []byte, tooLarge bool, err error) {
	if r == nil {
		return nil, false, nil
	}
	body, err = io.ReadAll(io.LimitReader(r, MaxBody+1))
	if err != nil || len(body) <= MaxBody {
		return body, false, err
	}
	_, err = io.CopyN(io.Discard, r, MaxBody)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return body[:MaxBody], true, err
}

// reset closes a connection so that the client sees it reset. It is the nearest that a server which has accepted a
// connection can come to refusing it.
func reset(control *http.ResponseController) {
	conn, _, err := control.Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // the close below then sends a reset
	}
	_ = conn.Close()
}
