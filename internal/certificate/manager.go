package certificate

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Options say where a [Manager] keeps the certificates and how the API server gets to know
// the CAs.
type Options struct {
	// Client MUST read from the API server and not from a cache: the optimistic lock needs
	// the present resourceVersion, and a cache would watch every Secret.
	Client client.WithWatch
	// Secret is created if it does not exist. A Helm chart may create an empty Secret.
	Secret types.NamespacedName
	// Names are the DNS names and IP addresses by which the API server calls the webhooks. An
	// IP address MUST have the format of [net.IP.String].
	Names []string
	// OnBundle writes the CAs into the webhook configurations. [Manager.Start] calls OnBundle
	// in every replica, at the start and whenever the bundle has changed, so OnBundle SHOULD
	// write nothing if the configurations are right. A rotation waits until OnBundle succeeds.
	OnBundle func(context.Context, Bundle) error
	// PropagationDelay is how long an API server may take to follow a changed webhook
	// configuration: 30 seconds by default.
	PropagationDelay time.Duration
	// RetireAfter is how long after the switch to a new CA the old CA is trusted: 90 days by
	// default. Every serving certificate of the old CA has expired by then.
	RetireAfter time.Duration
	// PathPause is the least time between two new paths of this process: 10 seconds by default. A user
	// who makes one call after another fail costs two writes in this time.
	PathPause time.Duration
}

// Bundle has the data for the API server and the webhook server.
type Bundle struct {
	// CA holds every CA to trust, as PEM, for caBundle in webhook configurations.
	CA []byte
	// Path is the last part of the webhooks' URL paths, which few clients but the API server know. The API server
	// prints the whole URL to a user whose request fails because a webhook did not answer. So every start of
	// a replica, every new certificate and [Manager.Suspect] replace Path.
	Path string
	// Certificate is the present serving certificate with its key.
	Certificate tls.Certificate
}

// Manager keeps the certificates in one Secret. Every replica has a Manager: call
// [Manager.Begin] before serving, and then [Manager.Start].
type Manager struct {
	options Options
	policy  policy
	clock   clock.Clock
	// published is the last bundle that [Options.OnBundle] accepted. Only [Manager.Start] uses published.
	published string
	held      atomic.Pointer[held]
	paths     paths
	wake      chan struct{} // wakes Start after Suspect
}

// held is the Secret as this process last read it.
type held struct {
	version string
	state   *state
	bundle  Bundle
}

// New returns a [Manager]. New sends no request.
func New(options Options) *Manager {
	return &Manager{options: options, clock: clock.RealClock{}, wake: make(chan struct{}, 1), policy: policy{
		names: options.Names, caValidity: caValidity, leafValidity: leafValidity,
		propagationDelay: cmp.Or(options.PropagationDelay, propagationDelay),
		retireAfter:      cmp.Or(options.RetireAfter, leafValidity),
		pathPause:        cmp.Or(options.PathPause, pathPause),
	}}
}

// Begin is [Manager.Ensure] for a replica that begins to serve. Begin also replaces the path: while no replica
// ran, the API server printed the path to each user whose request failed.
func (m *Manager) Begin(ctx context.Context) (Bundle, error) {
	_, s, err := m.read(ctx)
	if err != nil {
		return Bundle{}, err
	}
	if s != nil {
		m.paths.suspect(s.path)
	}
	return m.Ensure(ctx)
}

// Ensure creates or renews the certificates if that is due, loads them into memory and returns
// the [Bundle]. Ensure MUST NOT be called while [Manager.Start] runs.
func (m *Manager) Ensure(ctx context.Context) (Bundle, error) {
	if _, err := m.advance(ctx, nil); err != nil {
		return Bundle{}, err
	}
	return m.held.Load().bundle, nil
}

// Current returns the certificates in memory, without a request, and whether there are any.
func (m *Manager) Current() (Bundle, bool) {
	if h := m.held.Load(); h != nil {
		return h.bundle, true
	}
	return Bundle{}, false
}

// GetCertificate is for [tls.Config]. GetCertificate returns the serving certificate in memory
// for every server name: an API server may call by DNS name or by IP address.
func (m *Manager) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	h := m.held.Load()
	if h == nil {
		return nil, fmt.Errorf("serve webhook certificate: Secret %v was not read yet", m.options.Secret)
	}
	return &h.bundle.Certificate, nil
}
