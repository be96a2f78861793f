package claudesim

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
)

// Transport serves requests inside the process, without sockets and goroutines. It honours the request's context,
// also while a body is read; refused connections come back as a *net.OpError with ECONNREFUSED, cut ones as
// io.ErrUnexpectedEOF. It works in a testing/synctest bubble, where delays take no time.
func (s *Server) Transport() http.RoundTripper { return inProcess{s} }

// Client is an HTTP client on Transport.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.Transport()} }

type inProcess struct{ server *Server }

// RoundTrip serves one request.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	var body []byte
	var tooLarge bool
	if req.Body != nil {
		var err error
		body, tooLarge, err = readBody(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p := &player{server: t.server, script: t.server.decide(req.Method, req.URL.Path, req.Header, body, tooLarge)}
	switch p.next(ctx).kind {
	case stepHead:
	case stepReset:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: address(req.URL.Host), Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	case stepClosed:
		return nil, context.Cause(ctx)
	default:
		return nil, io.ErrUnexpectedEOF
	}
	header := p.script.header.Clone()
	length := int64(-1)
	if n, err := strconv.ParseInt(header.Get("Content-Length"), 10, 64); err == nil {
		length = n
	}
	return &http.Response{
		Status: strconv.Itoa(p.script.status) + " " + http.StatusText(p.script.status), StatusCode: p.script.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, ContentLength: length, Request: req,
		Body: &scriptBody{ctx: ctx, player: p},
	}, nil
}

type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// A scriptBody performs the rest of a script as it is read.
type scriptBody struct {
	ctx    context.Context //nolint:containedctx // a response's body lives under its request's context
	player *player
	left   []byte
	err    error
}

// Read returns the next bytes of the reply.
func (b *scriptBody) Read(p []byte) (int, error) {
	for len(b.left) == 0 && b.err == nil {
		switch st := b.player.next(b.ctx); st.kind {
		case stepBody:
			b.left = st.data
		case stepEnd:
			b.err = io.EOF
		case stepClosed:
			b.err = context.Cause(b.ctx)
		default:
			b.err = io.ErrUnexpectedEOF
		}
	}
	if len(b.left) == 0 {
		return 0, b.err
	}
	n := copy(p, b.left)
	b.left = b.left[n:]
	return n, nil
}

// Close ends the call; what was not read by then was not delivered.
func (b *scriptBody) Close() error {
	if b.err == nil {
		b.err = http.ErrBodyReadAfterClose
		if !b.player.ended {
			b.player.leave()
		}
	}
	return nil
}
