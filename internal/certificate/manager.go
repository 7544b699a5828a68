package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// maxTries bounds how often one call starts over because another replica was
// quicker. A whole rotation takes four writes.
const maxTries = 20

// ErrForeignSecret says that the Secret holds something that this package did
// not write and will not overwrite.
var ErrForeignSecret = errors.New("the Secret holds data that is not ours: name another one, or delete it")

// Bundle is what others need: the API server the CAs, the webhook server the
// certificate.
type Bundle struct {
	// CA holds every CA to trust, as PEM, for caBundle in webhook configurations.
	CA []byte
	// Path is the last part of the webhooks' paths. The API server presents no
	// certificate of its own, so that it knows this path is what tells it from
	// anybody else who reaches the webhooks. It lives as long as the Secret.
	Path string
	// Certificate is the present serving certificate with its key.
	Certificate tls.Certificate
}

// Manager keeps the certificates in one Secret. Make one with [New] in every
// replica; call [Manager.Ensure] before serving and add it to the controller
// manager, which calls [Manager.Start].
type Manager struct {
	options Options
	policy  policy
	// mu keeps calls of one process from overtaking each other, so that what is
	// in memory never goes back.
	mu   sync.Mutex
	held atomic.Pointer[held]
}

// held is what this process knows of the Secret.
type held struct {
	state   *state
	bundle  Bundle
	version string
}

// New returns a Manager, or what is wrong with the options. It makes no request.
func New(options Options) (*Manager, error) {
	complete, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("check certificate options: %w", err)
	}
	return &Manager{options: complete, policy: complete.policy()}, nil
}

// Ensure does what is due and returns what is then valid: it creates the CA and
// the serving certificate if there are none, renews them if they are about to
// expire, and takes the certificate into memory. A rotation goes on as far as it
// can without OnBundle, which only [Manager.Start] calls.
func (m *Manager) Ensure(ctx context.Context) (Bundle, error) {
	if _, err := m.settle(ctx); err != nil {
		return Bundle{}, err
	}
	return m.held.Load().bundle, nil
}

// Current returns what is in memory, without a request, and whether there is
// anything yet.
func (m *Manager) Current() (Bundle, bool) {
	if h := m.held.Load(); h != nil {
		return h.bundle, true
	}
	return Bundle{}, false
}

// GetCertificate is for [tls.Config]. It returns the present certificate from
// memory, whatever name the client asks for: the API server may call by a name
// or an address, and verifies either.
func (m *Manager) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	h := m.held.Load()
	if h == nil {
		return nil, fmt.Errorf("serve webhook certificate: Secret %v was not read yet", m.options.Secret)
	}
	return &h.bundle.Certificate, nil
}

// Rotate begins to replace the CA, whatever its age. It returns once the new one
// is announced; a running [Manager.Start], of any replica, does the rest. While
// a rotation waits for its switch, Rotate does nothing.
func (m *Manager) Rotate(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range maxTries {
		secret, s, err := m.read(ctx)
		if err != nil {
			return err
		}
		if s != nil && s.incoming != nil {
			return nil
		}
		do := announce
		if s == nil {
			do = create
		}
		written, err := m.take(ctx, secret, s, decision{do: do, why: "a rotation was asked for"})
		if written || err != nil {
			return err
		}
	}
	return m.errUnsettled()
}

// settle does everything that is due apart from publishing, takes the result
// into memory, and returns what comes next: idle or publish.
func (m *Manager) settle(ctx context.Context) (decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for range maxTries {
		secret, s, err := m.read(ctx)
		if err != nil {
			return decision{}, err
		}
		next := m.policy.decide(s, m.now())
		if next.do == idle || next.do == publish {
			m.hold(s, secret.ResourceVersion)
			return next, nil
		}
		if _, err := m.take(ctx, secret, s, next); err != nil {
			return decision{}, err
		}
	}
	return decision{}, m.errUnsettled()
}

// take makes the next state and writes it. It returns false if another replica
// was quicker: read again then.
func (m *Manager) take(ctx context.Context, secret *corev1.Secret, s *state, d decision) (bool, error) {
	next, err := m.after(s, d.do)
	if err != nil {
		return false, err
	}
	written, err := m.write(ctx, secret, next)
	if written {
		log.FromContext(ctx).Info("Webhook certificates changed", "action", d.do.String(), "reason", d.why,
			"phase", next.phase(), "secret", m.options.Secret, "servingExpires", next.serving.cert.NotAfter)
	}
	return written, err
}

func (m *Manager) after(s *state, do action) (*state, error) {
	if h := m.held.Load(); do == create && h != nil {
		return m.policy.restored(h.state, m.now())
	}
	return m.policy.step(s, do, m.now())
}

func (m *Manager) hold(s *state, version string) {
	m.held.Store(&held{state: s, bundle: s.exported(), version: version})
}

// recordPublished notes in the Secret that the webhook configurations trust the
// announced CA. If the Secret has changed since, it does nothing.
func (m *Manager) recordPublished(ctx context.Context, trusted *held) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	secret, s, err := m.read(ctx)
	if err != nil {
		return err
	}
	if s == nil || secret.ResourceVersion != trusted.version {
		return nil
	}
	_, err = m.write(ctx, secret, s.published(m.now()))
	return err
}

func (m *Manager) now() time.Time { return m.options.Clock.Now() }

func (m *Manager) errUnsettled() error {
	return fmt.Errorf("keep webhook certificates in Secret %v: gave up after %d tries, somebody keeps changing it",
		m.options.Secret, maxTries)
}
