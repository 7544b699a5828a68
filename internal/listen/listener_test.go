package listen_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/listen"
)

// server is a TLS server behind a Listener. A request for /trust, /distrust or /keep makes the server trust, distrust
// or keep its connection.
type server struct {
	*testing.T
	*listen.Listener
	closed chan listen.Reason
}

type connKey struct{}

func newServer(t *testing.T, limits listen.Limits) *server {
	t.Helper()
	cert, err := certificate.SelfSigned("listen-test")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{T: t, closed: make(chan listen.Reason, 1<<14)}
	limits.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
	limits.Closed = func(why listen.Reason) { s.closed <- why }
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Listener = listen.Wrap(t.Context(), tcp, limits)
	served := listen.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(net.Conn)
		change := map[string]func(net.Conn){"/trust": s.Trust, "/distrust": s.Distrust, "/keep": s.Keep}[r.URL.Path]
		if change != nil {
			change(c)
		}
	}))
	served.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(s.Listener) }()
	t.Cleanup(func() {
		_ = served.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return s
}

// slow opens a TCP connection that never begins a handshake.
func (s *server) slow() net.Conn {
	s.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	return c
}

// dial opens a TLS connection.
func (s *server) dial() *tls.Conn {
	s.Helper()
	c, err := tls.Dial("tcp", s.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // The test looks at bounds only.
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	return c
}

// get sends a request on a connection.
func get(c *tls.Conn, path string) error {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// TestBound opens many slow connections. No more than the bound are open, a new client is still served, and a
// trusted connection outlives them all.
func TestBound(t *testing.T) {
	const bound = 20
	s := newServer(t, listen.Limits{Connections: bound, Handshake: time.Minute})
	trusted := s.dial()
	if err := get(trusted, "/trust"); err != nil {
		t.Fatal(err)
	}
	for range 10 * bound {
		s.slow()
	}
	for range 9 * bound { // Trusted and bound-1 slow connections stay.
		if why := <-s.closed; why != listen.TooMany {
			t.Errorf("closed because of %q, want %q", why, listen.TooMany)
		}
	}
	if n := s.Open(); n > bound {
		t.Errorf("%d connections are open, the bound is %d", n, bound)
	}
	if err := get(s.dial(), "/"); err != nil {
		t.Errorf("a new client among slow ones: %v", err)
	}
	if err := get(trusted, "/"); err != nil {
		t.Errorf("the trusted connection: %v", err)
	}
}

// TestFullOfTrusted: a client whose connections are all trusted does not keep new clients away. The connection whose
// last trusted request is the oldest is closed, after those that are not trusted any more. A kept connection stays
// open, and if every open connection is kept, a new one is closed.
func TestFullOfTrusted(t *testing.T) {
	s := newServer(t, listen.Limits{Connections: 3})
	dial := func(path string) *tls.Conn {
		t.Helper()
		c := s.dial()
		send(t, c, path)
		return c
	}
	keeper, first, second := dial("/keep"), dial("/trust"), dial("/trust")
	send(t, first, "/trust") // second is the oldest now.
	third := dial("/trust")
	isClosed(t, second)
	send(t, third, "/distrust") // first is older, and trusted.
	fourth := dial("/trust")
	isClosed(t, third)
	send(t, first, "/keep")
	send(t, fourth, "/keep")
	send(t, fourth, "/distrust") // A kept connection is kept.
	if _, err := s.slow().Read(make([]byte, 1)); !errors.Is(err, io.EOF) && err == nil {
		t.Errorf("a new connection among kept ones stays open: %v", err)
	}
	for _, c := range []*tls.Conn{keeper, first, fourth} {
		send(t, c, "/")
	}
}

// send sends a request on a connection that must be open.
func send(t *testing.T, c *tls.Conn, path string) {
	t.Helper()
	if err := get(c, path); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// isClosed expects that the server has closed a connection.
func isClosed(t *testing.T, c *tls.Conn) {
	t.Helper()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
}

// TestReasons has clients that each break one rule.
func TestReasons(t *testing.T) {
	for name, test := range map[string]struct {
		limits listen.Limits
		client func(*server)
		want   listen.Reason
	}{
		"the client sends nothing": {
			listen.Limits{Handshake: time.Millisecond}, func(s *server) { s.slow() }, listen.SlowHandshake,
		},
		"the client refuses the certificate": {
			listen.Limits{}, func(s *server) {
				if c, err := tls.Dial("tcp", s.Addr().String(), nil); err == nil {
					_ = c.Close()
					s.Error("the client trusts an unknown certificate")
				}
			}, listen.Distrusted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, test.limits)
			test.client(s)
			if why := <-s.closed; why != test.want {
				t.Errorf("closed because of %q, want %q", why, test.want)
			}
		})
	}
}

// addressed is a listener whose connections come from a given address.
type addressed struct {
	net.Listener
	from net.Addr
}

func (l addressed) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return addressedConn{c, l.from}, nil
}

type addressedConn struct {
	net.Conn
	from net.Addr
}

func (c addressedConn) RemoteAddr() net.Addr { return c.from }

// TestFrom: only clients of the named networks, and of the loopback interface, may connect.
func TestFrom(t *testing.T) {
	for from, want := range map[string]bool{
		"10.1.2.3": true, "10.2.0.1": false, "127.0.0.1": true, "::1": true, "::ffff:10.1.0.1": true, "fd00::1": false,
	} {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan listen.Reason, 1)
		l := listen.Wrap(t.Context(), addressed{tcp, &net.TCPAddr{IP: net.ParseIP(from), Port: 1}}, listen.Limits{
			From: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, Closed: func(why listen.Reason) { closed <- why },
		})
		accepted := make(chan net.Conn, 1)
		go func() {
			if c, err := l.Accept(); err == nil {
				accepted <- c
			}
		}()
		client, err := net.Dial("tcp", tcp.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		select {
		case c := <-accepted:
			_ = c.Close()
			if !want {
				t.Errorf("a client from %s is accepted", from)
			}
		case why := <-closed:
			if want || why != listen.WrongSource {
				t.Errorf("a client from %s is closed because of %q", from, why)
			}
		}
		_ = client.Close()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
