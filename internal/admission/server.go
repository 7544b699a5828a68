package admission

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/listen"
	"github.com/kinship-dev/kinship/pkg/throttle"
)

// Options are the options of a [Server].
type Options struct {
	// Host and Port are the address of the server. An empty Host means every address of the machine.
	Host string
	Port int
	// Protocols are the protocols that the server offers in TLS, such as http/1.1. Empty means h2.
	Protocols []string
	// Certificates has the serving certificate and the secret path.
	Certificates Certificates
	// ClientCAs, if set, are the CAs of the API servers' client certificates. The server then answers no review
	// without such a certificate.
	ClientCAs *x509.CertPool
	// From are the networks of the API servers, such as 10.0.0.0/28. Empty means every client.
	From []netip.Prefix
	// Connections bounds the open connections. Zero means [listen.DefaultConnections].
	Connections int
	// MaxObject is the size, in bytes of JSON, of the largest object that is judged. Zero means [DefaultMaxObject].
	MaxObject int
	// Room returns an error if there is no room for one more object of a kind in a namespace, or for a larger one. Nil
	// means that there is always room.
	Room func(kind schema.GroupKind, namespace string) error
	// Log receives the lines of the server.
	Log logr.Logger
}

// Certificates is the part of [certificate.Manager] that a [Server] needs.
type Certificates interface {
	// GetCertificate returns the serving certificate.
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Check returns what a secret path is.
	Check(ctx context.Context, path string) (certificate.Standing, error)
	// Suspect says that a client other than the API server may know the present path.
	Suspect(path string)
	// Current returns the present path.
	Current() (certificate.Bundle, bool)
}

// Server implements [webhook.Server] with the bounds and checks of this package. The handlers, their metrics and
// the multiplexer are those of controller-runtime; controller-runtime's own listener has no bounds.
type Server struct {
	webhook.Server
	options  Options
	mux      *http.ServeMux
	metrics  *Metrics
	budget   *budget
	echoes   *echoes
	started  atomic.Bool
	listener atomic.Pointer[listen.Listener]
	// doubts limits how often a closed connection that may have been the API server's has the path replaced: a client
	// without any path can open connections and break them off all the time, and each replacement writes a Secret and
	// the webhook configurations.
	doubts throttle.Throttle
}

// NewServer returns a [Server]. NewServer opens no port.
func NewServer(o Options, metrics *Metrics) *Server {
	mux := http.NewServeMux()
	return &Server{
		Server: webhook.NewServer(webhook.Options{WebhookMux: mux}), options: o, mux: mux, metrics: metrics,
		budget: newBudget(), echoes: newEchoes(),
		doubts: throttle.Throttle{Least: 10 * time.Second, Most: 10 * time.Minute, Calm: 30 * time.Minute},
	}
}

// Register implements [webhook.Server]. The handler is served at path/SECRET.
func (s *Server) Register(path string, hook http.Handler) {
	hook = s.metrics.counted(path, s.options.limited(s.echoes.heard(hook)))
	s.Server.Register(path+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, strings.ToLower(strings.TrimPrefix(r.URL.Path, path+"/")), hook)
	}))
}

// serve answers one request for path/SECRET.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, secret string, hook http.Handler) {
	standing, err := s.options.Certificates.Check(r.Context(), secret)
	if err != nil {
		s.options.Log.Error(err, "A webhook was called with a path that could not be checked")
	}
	connection := connectionOf(r.Context())
	if standing == certificate.Unknown {
		if connection != nil {
			connection.distrust()
		}
		http.NotFound(w, r)
		return
	}
	if connection != nil {
		connection.trust()
	}
	if r.Method == http.MethodHead { // The operator asks whether its webhooks are reached.
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if s.options.ClientCAs != nil {
		if len(verifiedChains(r)) == 0 {
			http.Error(w, "a client certificate of the API server is needed", http.StatusForbidden)
			return
		}
		if connection != nil {
			connection.prove()
		}
	}
	if standing == certificate.Present {
		// A caller that gives up tells its user so, with the path.
		defer context.AfterFunc(r.Context(), func() { s.options.Certificates.Suspect(secret) })()
	}
	answerInFull(s.budget.bounded(hook)).ServeHTTP(w, r)
}

func verifiedChains(r *http.Request) [][]*x509.Certificate {
	if r.TLS == nil {
		return nil
	}
	return r.TLS.VerifiedChains
}

// Start implements [webhook.Server]. Start serves until the context ends, and then lets requests that were
// accepted finish.
func (s *Server) Start(ctx context.Context) error {
	address := net.JoinHostPort(s.options.Host, strconv.Itoa(s.options.Port))
	tcp, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	listener := listen.Wrap(ctx, tcp, listen.Limits{
		Connections: s.options.Connections, From: s.options.From, TLS: s.tls(), Closed: s.closed,
	})
	s.listener.Store(listener)
	server := listen.NewServer(s.mux)
	server.HTTP2 = http2Bounds()
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		known := newConnection(c, listener)
		s.echoes.connections.Store(c, known)
		return withConnection(ctx, known)
	}
	server.ConnState = s.echoes.follow
	server.ErrorLog = quiet(s.options.Log)
	ended := make(chan error, 1)
	go func() {
		<-ctx.Done()
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		ended <- server.Shutdown(stopping)
	}()
	s.options.Log.Info("Serving webhooks", "address", address)
	s.started.Store(true)
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve webhooks: %w", err)
	}
	if err := <-ended; err != nil {
		return fmt.Errorf("end the webhook server: %w", err)
	}
	return nil
}

// closed counts a connection that the listener closed. If a bound or a wrong certificate may have closed a connection
// of the API server, the API server has told a user the path.
func (s *Server) closed(why listen.Reason) {
	s.metrics.closed.WithLabelValues(string(why)).Inc()
	if why == listen.TooMany || why == listen.Distrusted {
		s.doubts.Do(s.suspect)
	}
}

// suspect has the present path replaced.
func (s *Server) suspect() {
	if bundle, ok := s.options.Certificates.Current(); ok {
		s.options.Certificates.Suspect(bundle.Path)
	}
}

func (s *Server) tls() *tls.Config {
	c := &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"}, GetCertificate: s.options.Certificates.GetCertificate,
	}
	if len(s.options.Protocols) > 0 {
		c.NextProtos = s.options.Protocols
	}
	if s.options.ClientCAs != nil { // The operator's own HEAD requests have no certificate.
		c.ClientCAs, c.ClientAuth = s.options.ClientCAs, tls.VerifyClientCertIfGiven
	}
	return c
}

// StartedChecker implements [webhook.Server]. The check opens no connection.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.started.Load() {
			return errors.New("webhook server has not been started yet")
		}
		return nil
	}
}

// Connections returns how many connections are open.
func (s *Server) Connections() int {
	if l := s.listener.Load(); l != nil {
		return l.Open()
	}
	return 0
}

// answerInFull lets a handler finish a request that the server has accepted before SIGTERM. The
// server waits for the handler, but cancels Request.Context at once: a validator would refuse an
// IotConnector because its SubjectAccessReview was canceled.
func answerInFull(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerTime(r))
		defer cancel()
		hook.ServeHTTP(w, r.WithContext(ctx))
	})
}

// longestAnswer bounds a handler if the API server sends no ?timeout=.
const longestAnswer = 10 * time.Second

// answerTime returns how long a handler may take. The API server sends timeoutSeconds of the
// webhook as ?timeout=3s. A handler gets 1/8 less, so that its answer arrives in time: a handler
// that continued could record a deletion after the API server has reported that the webhook failed.
func answerTime(r *http.Request) time.Duration {
	timeout, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 || timeout > longestAnswer {
		timeout = longestAnswer
	}
	return timeout - timeout/8
}

// wrapped applies a function to the handler of an admission webhook. Another http.Handler is returned as it is.
func wrapped(hook http.Handler, around func(admission.Handler) admission.Handler) http.Handler {
	if w, ok := hook.(*admission.Webhook); ok {
		w.Handler = around(w.Handler)
	}
	return hook
}
