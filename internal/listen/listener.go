package listen

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of [Limits].
const (
	// DefaultConnections is a bound that costs at most about 16 MB: a TLS connection costs about 31 KB,
	// without the bodies that its clients have sent and no handler has read.
	DefaultConnections = 512
	// DefaultHandshake is the time for a TLS handshake.
	DefaultHandshake = 5 * time.Second
)

// Reason says why a [Listener] closed a connection.
type Reason string

const (
	// TooMany says that Limits.Connections was reached.
	TooMany Reason = "TooMany"
	// WrongSource says that the client's address is not in Limits.From.
	WrongSource Reason = "WrongSource"
	// SlowHandshake says that the TLS handshake did not end within Limits.Handshake, or the client broke it off.
	SlowHandshake Reason = "SlowHandshake"
	// Distrusted says that the client refused the server's certificate.
	Distrusted Reason = "Distrusted"
)

// Reasons are all reasons, in a fixed order.
var Reasons = []Reason{TooMany, WrongSource, SlowHandshake, Distrusted}

// Limits bound the connections of a [Listener].
type Limits struct {
	// Connections is how many connections may be open. Zero means [DefaultConnections].
	Connections int
	// Handshake is how long a TLS handshake may take. Zero means [DefaultHandshake].
	Handshake time.Duration
	// From are the networks of clients that may connect, such as 10.0.0.0/24. Clients on the loopback
	// interface always may. Empty means every client.
	From []netip.Prefix
	// TLS is the configuration of TLS. Nil means no TLS.
	TLS *tls.Config
	// Closed, if set, is called after each connection that the Listener closed, from several goroutines.
	Closed func(Reason)
}

// Listener is a [net.Listener] with [Limits]. Its connections are of the type [tls.Conn] with a complete
// handshake, if Limits.TLS is set.
type Listener struct {
	net.Listener
	limits   Limits
	accepted chan result
	ended    chan struct{}
	end      sync.Once

	mu sync.Mutex
	// open has the place of each open connection.
	open map[*conn]place
	// ranks have the connections that may be closed for another: those of the first rank first, and of each rank the
	// first first. A kept connection is in no list.
	ranks [known + 1]*list.List
}

// rank says how much a [Listener] trusts a connection.
type rank int

const (
	// unknown connections have proven nothing. They are in the order in which they came.
	unknown rank = iota
	// known connections have sent a request that few clients can send ([Listener.Trust]). They are in the order of
	// their last such requests.
	known
	// kept connections are never closed for another ([Listener.Keep]).
	kept
)

// place is the rank of a connection, and the element in the list of the rank.
type place struct {
	rank    rank
	element *list.Element
}

type result struct {
	conn net.Conn
	err  error
}

// Wrap returns a [Listener] that accepts the connections of another listener. [Listener.Close] ends both; the
// end of the context does not.
func Wrap(ctx context.Context, l net.Listener, limits Limits) *Listener {
	limits.Connections = cmp.Or(limits.Connections, DefaultConnections)
	limits.Handshake = cmp.Or(limits.Handshake, DefaultHandshake)
	bounded := &Listener{
		Listener: l, limits: limits, accepted: make(chan result), ended: make(chan struct{}),
		open: map[*conn]place{}, ranks: [known + 1]*list.List{list.New(), list.New()},
	}
	go bounded.run(context.WithoutCancel(ctx))
	return bounded
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case r := <-l.accepted:
		return r.conn, r.err
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. Accepted connections stay open.
func (l *Listener) Close() error {
	l.end.Do(func() { close(l.ended) })
	return l.Listener.Close()
}

// Open returns how many connections are open.
func (l *Listener) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open)
}

// Trust records that a connection that [Listener.Accept] returned has sent a request that few clients can send. The
// Listener closes the connection for another one only if every other connection has sent such a request later.
func (l *Listener) Trust(c net.Conn) { l.move(c, known) }

// Distrust takes the trust from a connection that was not kept.
func (l *Listener) Distrust(c net.Conn) { l.move(c, unknown) }

// Keep keeps a connection that [Listener.Accept] returned: the Listener does not close the connection for another one
// any more.
func (l *Listener) Keep(c net.Conn) { l.move(c, kept) }

// move gives a connection a rank, behind the others of the rank.
func (l *Listener) move(c net.Conn, to rank) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	own, ok := c.(*conn)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now, isOpen := l.open[own]; isOpen && now.rank != kept {
		l.forget(own)
		l.put(own, to)
	}
}

// put records a connection. The caller holds l.mu.
func (l *Listener) put(c *conn, at rank) {
	p := place{rank: at}
	if at != kept {
		p.element = l.ranks[at].PushBack(c)
	}
	l.open[c] = p
}

// run accepts connections until the Listener is closed. An error is handed to Accept, whose caller (net/http)
// decides whether to go on.
func (l *Listener) run(ctx context.Context) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			if !l.hand(nil, err) || errors.Is(err, net.ErrClosed) {
				return
			}
			continue
		}
		if !l.mayConnect(raw.RemoteAddr()) {
			l.drop(raw, WrongSource)
			continue
		}
		if c := l.add(raw); c != nil {
			go l.handshake(ctx, c)
		}
	}
}

// hand gives a connection or an error to Accept, and reports whether the Listener is still open.
func (l *Listener) hand(c net.Conn, err error) bool {
	select {
	case l.accepted <- result{c, err}:
		return true
	case <-l.ended:
		return false
	}
}

func (l *Listener) mayConnect(from net.Addr) bool {
	tcp, ok := from.(*net.TCPAddr)
	if len(l.limits.From) == 0 || !ok {
		return true
	}
	ip := tcp.AddrPort().Addr().Unmap()
	return ip.IsLoopback() || slices.ContainsFunc(l.limits.From, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// add records a new connection. At the bound, add closes another connection, or the new connection if all others are
// kept. A client that knows how to be trusted can't keep the others away with its own connections for ever: their
// requests become older than those of others.
func (l *Listener) add(raw net.Conn) *conn {
	c := &conn{Conn: raw, listener: l}
	l.mu.Lock()
	if len(l.open) < l.limits.Connections {
		l.put(c, unknown)
		l.mu.Unlock()
		return c
	}
	oldest := cmp.Or(l.ranks[unknown].Front(), l.ranks[known].Front())
	if oldest == nil {
		l.mu.Unlock()
		l.drop(raw, TooMany)
		return nil
	}
	victim := oldest.Value.(*conn)
	l.forget(victim)
	l.put(c, unknown)
	l.mu.Unlock()
	victim.displaced.Store(true)
	l.drop(victim.Conn, TooMany)
	return c
}

// forget drops the record of a connection. The caller holds l.mu.
func (l *Listener) forget(c *conn) {
	if p, isOpen := l.open[c]; isOpen && p.rank != kept {
		l.ranks[p.rank].Remove(p.element)
	}
	delete(l.open, c)
}

func (l *Listener) drop(c net.Conn, why Reason) {
	_ = c.Close() // The client sees the end; there is nobody else to tell.
	if l.limits.Closed != nil {
		l.limits.Closed(why)
	}
}

// handshake performs the TLS handshake of a connection, and hands the connection to Accept.
func (l *Listener) handshake(ctx context.Context, c *conn) {
	if l.limits.TLS == nil {
		l.deliver(c)
		return
	}
	secure := tls.Server(c, l.limits.TLS)
	ctx, cancel := context.WithTimeout(ctx, l.limits.Handshake)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		if !c.displaced.Load() { // Limits.Closed was called then.
			l.drop(c, refusal(err))
		}
		return
	}
	l.deliver(secure)
}

// refusal tells a client that refuses the server's certificate (by a TLS alert) from a client that is slow or gone.
func refusal(err error) Reason {
	if remote := (*net.OpError)(nil); errors.As(err, &remote) && remote.Op == "remote error" {
		return Distrusted
	}
	return SlowHandshake
}

func (l *Listener) deliver(c net.Conn) {
	if !l.hand(c, nil) {
		_ = c.Close() // The server has ended.
	}
}

// conn is an open connection of a Listener.
type conn struct {
	net.Conn
	listener *Listener
	// displaced: the Listener has closed the connection for another one.
	displaced atomic.Bool
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.listener.mu.Lock()
	c.listener.forget(c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// Time-outs of [NewServer].
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 10 * time.Second
	answerTimeout = 30 * time.Second
	// idleTimeout is the time that the API server's own transport keeps an idle connection.
	idleTimeout = 90 * time.Second
	maxHeader   = 32 << 10
)

// NewServer returns a server whose clients have 5 seconds for a header of at most 32 KiB, 10 seconds for header
// and body, and 30 seconds to read the answer. A server with longer answers sets WriteTimeout.
func NewServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeader, IdleTimeout: idleTimeout,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: answerTimeout,
	}
}
