package webhook

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/siding-dev/siding"
)

func TestWhichAddressesArePublic(t *testing.T) {
	t.Parallel()
	for _, public := range []string{"1.1.1.1", "8.8.8.8", "93.184.215.14", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "2606:4700::1111", "2a00::1", "::ffff:8.8.8.8"} {
		require.True(t, isPublic(netip.MustParseAddr(public)), public)
	}
	for _, private := range []string{
		"127.0.0.1", "127.255.255.255", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"198.18.0.1", "192.0.0.8", "192.0.2.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:db8::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
	} {
		require.False(t, isPublic(netip.MustParseAddr(private)), private)
	}
}

func TestAPrivateAddressIsNotConnectedTo(t *testing.T) {
	t.Parallel()
	r := serve(t, says(200, ""))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	require.NoError(t, err)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "127.1"} {
		j := newJournal()
		h := newHandler(t, Config{URL: "http://" + host + ":" + port + "/", Journal: j})
		res, err := h.Handle(t.Context(), delivery("x"))
		f := siding.FailureOf(err)
		if host == "2130706433" || host == "127.1" { // names to Go; a resolver may know them for what they are
			require.NotNil(t, f)
			continue
		}
		require.Equal(t, siding.OutcomeHeld, f.Outcome, "%s: %v", host, f)
		require.Equal(t, siding.ScopeRecipe, f.Scope)
		require.Equal(t, siding.CauseConfiguration, f.Cause)
		require.False(t, res.NoCall, "or no gate would hear of it")
		require.Equal(t, []siding.Fate{siding.FateUnsent}, j.fates())
	}
	require.Empty(t, r.requests())
}

// A name that resolves to a good address first and to a bad one later is found out, because what is checked is where the
// connection goes.
func TestRebindingANameDoesNotHelp(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	address := func() netip.Addr {
		if asked.Add(1) == 1 {
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.MustParseAddr("127.0.0.2")
	}
	r := serve(t, says(200, ""))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	require.NoError(t, err)
	h := newHandler(t, Config{URL: "http://hook.example.com:" + port + "/", Resolver: resolver(address)})
	h.public = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") } // as if it were a public one

	_, err = h.Handle(t.Context(), delivery("x"))
	require.NoError(t, err)
	h.Close() // the next one connects anew
	_, err = h.Handle(t.Context(), delivery("y"))
	f := siding.FailureOf(err)
	require.Equal(t, siding.CauseConfiguration, f.Cause, "%v", f)
	require.Contains(t, f.Error(), "127.0.0.2 is not an address of the public internet")
	require.Len(t, r.requests(), 1)
	require.EqualValues(t, 2, asked.Load())
}

// resolver answers each question for an IPv4 address with what address gives, and others with nothing.
func resolver(address func() netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			var size [2]byte // a stream: each message has its length in front
			if _, err := server.Read(size[:]); err != nil {
				return
			}
			query := make([]byte, binary.BigEndian.Uint16(size[:]))
			for n := 0; n < len(query); {
				m, err := server.Read(query[n:])
				if err != nil {
					return
				}
				n += m
			}
			end := 12
			for query[end] != 0 {
				end += int(query[end]) + 1
			}
			question := query[12 : end+5]
			reply := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
			if question[len(question)-3] == 1 { // type A
				reply[7] = 1
				ip := address().As4()
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				reply = append(reply, ip[:]...)
			}
			_, _ = server.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
		}()
		return client, nil
	}}
}

func TestRedirectsAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, says(200, "elsewhere"))
	for _, status := range []int{301, 302, 303, 307, 308} {
		j := newJournal()
		r := serve(t, says(status, "", "Location", elsewhere.URL+"/secret-path"))
		c := to(r)
		c.Journal = j
		_, f := handle(t, c)
		got := verdict{f.Outcome, f.Cause, f.Scope}
		require.Equal(t, misconfigured, got)
		require.Contains(t, f.Error(), "redirects to "+elsewhere.URL+";")
		require.NotContains(t, f.Error(), "secret-path")
		require.Equal(t, []siding.Fate{siding.FateRefused}, j.fates())
	}
	require.Empty(t, elsewhere.requests())
}

func TestRedirectsThatAreAllowedKeepTheBodyAndTheHost(t *testing.T) {
	t.Parallel()
	elsewhere := serve(t, says(200, "elsewhere"))
	other := strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1)
	for name, c := range map[string]struct {
		status   int
		location string
		want     string // part of the error; empty: it is followed
	}{
		"307 on the same host":             {307, "/there", ""},
		"308 on the same host":             {308, "there?x=1", ""},
		"another port of the same host":    {307, elsewhere.URL, ""},
		"303 would lose the body":          {303, "/there", "without method and body"},
		"another host":                     {307, other, "to another host"},
		"a file":                           {307, "file:///etc/passwd", "to another host"},
		"a circle":                         {307, "/hook", "more than 5 times"},
		"nowhere":                          {307, "http://[", "does not say where to"},
		"another scheme of the same host":  {307, "ftp://127.0.0.1/", "that is not followed"},
		"the same host with a password":    {307, "http://a:b@127.0.0.1/", "to another host"},
		"the same place, without anything": {307, "", "more than 5 times"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, func(w http.ResponseWriter, req *http.Request) {
				if strings.HasPrefix(req.URL.Path, "/there") {
					says(200, "here")(w, req)
					return
				}
				says(c.status, "", "Location", c.location)(w, req)
			})
			conf := to(r)
			conf.FollowRedirects = true
			_, f := handle(t, conf)
			if c.want != "" {
				require.Equal(t, siding.CauseConfiguration, f.Cause)
				require.Contains(t, f.Error(), c.want)
				return
			}
			require.Nil(t, f)
			all := append(r.requests(), elsewhere.requests()...)
			last := all[len(all)-1]
			require.Equal(t, body, last.body)
			require.Equal(t, "POST", last.method)
			require.Equal(t, "evt-1", last.header.Get("Idempotency-Key"))
		})
	}
}

// A redirect to a private address is refused like the address itself.
func TestARedirectIsCheckedLikeAnyAddress(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	r := serve(t, says(307, "", "Location", "/there", "Connection", "close"))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(r.URL, "http://"))
	require.NoError(t, err)
	j := newJournal()
	h := newHandler(t, Config{URL: "http://hook.example.com:" + port + "/", FollowRedirects: true, Journal: j, Resolver: resolver(func() netip.Addr {
		if asked.Add(1) == 1 {
			return netip.MustParseAddr("127.0.0.1")
		}
		return netip.MustParseAddr("169.254.169.254")
	})})
	h.public = func(a netip.Addr) bool { return a == netip.MustParseAddr("127.0.0.1") }
	_, err = h.Handle(t.Context(), delivery("x"))
	f := siding.FailureOf(err)
	require.Equal(t, siding.CauseConfiguration, f.Cause, "%v", f)
	require.Equal(t, []siding.Fate{siding.FateUnknown}, j.fates(), "the first host has had it")
}

func TestFaultsOfTheConnectionAreTransient(t *testing.T) {
	t.Parallel()
	tls := httptest.NewUnstartedServer(says(200, ""))
	tls.Config.ErrorLog = nothing(t)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	plain := serve(t, says(200, ""))
	closed := httptest.NewServer(says(200, ""))
	closed.Close()
	garbage := raw(t, "SSH-2.0-OpenSSH\r\n\r\n")
	for name, c := range map[string]struct {
		url  string
		want verdict
		fate siding.Fate
	}{
		"nobody listens":               {closed.URL, network, siding.FateUnsent},
		"a certificate of nobody":      {tls.URL, network, siding.FateUnsent},
		"https where http is spoken":   {strings.Replace(plain.URL, "http:", "https:", 1), misconfigured, siding.FateUnsent},
		"something that is not HTTP":   {garbage, badResponse, siding.FateUnknown},
		"a name that nobody has given": {"http://no-such-name.invalid/", network, siding.FateUnsent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJournal()
			conf := Config{URL: c.url, AllowPrivate: true, Journal: j, Timeout: 10 * time.Second}
			if strings.Contains(c.url, "invalid") {
				conf.Resolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.DNSError{Err: "no such host", Name: "no-such-name.invalid", IsNotFound: true}
				}}
			}
			_, f := handle(t, conf)
			require.NotNil(t, f)
			require.Equal(t, c.want, verdict{f.Outcome, f.Cause, f.Scope}, f.Error())
			require.Equal(t, []siding.Fate{c.fate}, j.fates())
			require.False(t, f.NoCall, "the lane must learn of it")
		})
	}
}
