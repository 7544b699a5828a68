package admission

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"

	"github.com/kinship-dev/kinship/internal/listen"
)

// connection is what the server knows of a client's connection.
type connection struct {
	conn     net.Conn
	listener *listen.Listener
	once     sync.Once
	// proven is closed once the connection is known to be one of the API server's.
	proven chan struct{}
	// ended is closed with the connection.
	ended chan struct{}

	// rounds counts the reviews that were answered pack.Pending.
	rounds atomic.Int32

	mu sync.Mutex
	// afterwards waits until the answer to the present request is sent.
	afterwards func()
	closed     bool
}

func newConnection(c net.Conn, l *listen.Listener) *connection {
	return &connection{conn: c, listener: l, proven: make(chan struct{}), ended: make(chan struct{})}
}

type connectionKey struct{}

func withConnection(ctx context.Context, c *connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request, or nil.
func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// trust has the listener close other connections first, when it has to close some.
func (c *connection) trust() { c.listener.Trust(c.conn) }

// distrust takes that back, unless the connection is proven: its client knows no path any more.
func (c *connection) distrust() { c.listener.Distrust(c.conn) }

// prove records that the API server uses the connection. The listener keeps the connection.
func (c *connection) prove() {
	c.once.Do(func() {
		close(c.proven)
		c.listener.Keep(c.conn)
	})
}

// isMultiplexed reports whether several requests may be under way at once, by HTTP/2. Only then an echo can arrive
// while a review waits.
func (c *connection) isMultiplexed() bool {
	secure, ok := c.conn.(*tls.Conn)
	return ok && secure.ConnectionState().NegotiatedProtocol == "h2"
}

func (c *connection) isProven() bool {
	select {
	case <-c.proven:
		return true
	default:
		return false
	}
}

// later calls do in a goroutine once the answer to the present request is sent, unless the connection ends before.
func (c *connection) later(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.afterwards = do
	}
}

// idle starts what later was given: the answer was sent in full.
func (c *connection) idle() {
	c.mu.Lock()
	do := c.afterwards
	c.afterwards = nil
	c.mu.Unlock()
	if do != nil {
		go do()
	}
}

// end drops what later was given.
func (c *connection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.ended)
	}
	c.afterwards = nil
}
