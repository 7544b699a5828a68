// Package listen bounds the cost of connections to a server of the operator. A client that opens 14,000
// slow TLS connections must neither take the operator's memory nor keep the API server out.
//
// A [Listener] bounds the open connections, and the time of a TLS handshake. If the bound is reached, a new
// connection replaces the oldest connection that the server does not trust. The webhook server trusts a
// connection after the first request with the secret path (see [Listener.Trust]), so a client that floods the port
// replaces only connections of clients that proved nothing. [NewServer] bounds the time of a header, of a
// body and of an answer.
//
//	listener := listen.Wrap(ctx, tcp, listen.Limits{Connections: 512, TLS: config})
//	err := listen.NewServer(handler).Serve(listener)
package listen
