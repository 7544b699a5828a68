package certificate

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// publishTimeout limits the time of one call of [Options.OnBundle]. No certificate is renewed during
	// the call.
	publishTimeout = 30 * time.Second
	// clockCheck is how often the time of day is compared with the next step. A timer stands
	// still while a laptop's lid is closed; the time of day does not.
	clockCheck = time.Minute
	// maxTries limits how often one call starts again because another replica wrote the Secret
	// first. A whole rotation needs four writes.
	maxTries = 20
)

var _ manager.LeaderElectionRunnable = (*Manager)(nil)

// NeedLeaderElection returns false: every replica serves the certificate of the Secret.
func (m *Manager) NeedLeaderElection() bool { return false }

// Start performs steps when they are due and follows the changes of the Secret, until the
// context ends. Start logs errors and tries again; Start returns no error.
func (m *Manager) Start(ctx context.Context) error {
	pauses := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 5 * time.Minute}
	_ = pauses.DelayWithReset(m.clock, 10*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := m.follow(ctx); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Could not keep webhook certificates, will try again",
				"secret", m.options.Secret)
		}
		return false, nil
	}) // The error says that the context has ended.
	return nil
}

// follow watches the Secret and performs steps until the API server ends the watch, which
// is no error. Each read of the Secret follows the beginning of the watch, so that follow
// misses no change.
func (m *Manager) follow(ctx context.Context) error {
	changes, err := m.options.Client.Watch(ctx, &corev1.SecretList{},
		client.InNamespace(m.options.Secret.Namespace),
		client.MatchingFields{metav1.ObjectNameField: m.options.Secret.Name})
	if err != nil { // Without a watch, at least the serving certificate must not expire.
		_, failed := m.advance(ctx, m.options.OnBundle)
		return errors.Join(fmt.Errorf("watch webhook certificates: %w", err), failed)
	}
	defer changes.Stop()
	for {
		next, err := m.advance(ctx, m.options.OnBundle)
		if err != nil {
			return err
		}
		if !m.sleep(ctx, next, changes.ResultChan()) {
			return nil
		}
	}
}

// sleep returns true at the given time of day, or earlier if the Secret is no longer the Secret
// in memory. sleep returns false if the watch or the context ends.
func (m *Manager) sleep(ctx context.Context, until time.Time, changes <-chan watch.Event) bool {
	for left := until.Sub(m.clock.Now()); left > 0; left = until.Sub(m.clock.Now()) {
		select {
		case <-ctx.Done():
			return false
		case <-m.clock.After(min(left, clockCheck)):
		case <-m.wake:
			return true
		case change, open := <-changes:
			secret, read := change.Object.(*corev1.Secret)
			if !open || !read {
				return false
			}
			if secret.ResourceVersion != m.held.Load().version {
				return true
			}
		}
	}
	return true
}

// advance performs every action that is due, loads the Secret into memory and returns the time
// of the next action. Without onBundle, advance stops before publish.
func (m *Manager) advance(ctx context.Context, onBundle func(context.Context, Bundle) error) (time.Time, error) {
	for range maxTries {
		secret, s, err := m.read(ctx)
		if err != nil {
			return time.Time{}, err
		}
		suspected, earliest := m.paths.wish(m.policy.pathPause)
		due := m.policy.decide(s, suspected, earliest, m.clock.Now())
		if due.do == idle || due.do == publish {
			m.hold(secret, s)
			if err := m.publish(ctx, onBundle); err != nil {
				return time.Time{}, err
			}
			if due.do == idle || onBundle == nil {
				return due.at, nil
			}
		} else if h := m.held.Load(); s == nil && h != nil {
			// The Secret was deleted or damaged. Memory still has its content, so that the
			// keys are replaced by a rotation, during which no admission fails.
			s, due.do = h.state, announce
		}
		after, err := m.policy.perform(due.do, s, m.clock.Now())
		if err != nil {
			return time.Time{}, err
		}
		log.FromContext(ctx).Info("Changing webhook certificates", "action", due.do, "secret", m.options.Secret,
			"trustedAuthorities", len(after.bundle()), "servingExpires", after.leaf.Leaf.NotAfter)
		if s != nil { // The API server calls this path until the configurations have the new one.
			m.paths.replace(s.path, m.clock.Now())
		}
		if err := m.write(ctx, secret, after); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, fmt.Errorf("keep webhook certificates in Secret %v: another writer keeps changing it",
		m.options.Secret)
}

// hold loads a Secret into memory.
func (m *Manager) hold(secret *corev1.Secret, s *state) {
	bundle := s.exported()
	m.paths.set(bundle.Path)
	m.held.Store(&held{version: secret.ResourceVersion, state: s, bundle: bundle})
}

// publish calls onBundle with the CAs and the path in memory, unless onBundle has accepted both already.
func (m *Manager) publish(ctx context.Context, onBundle func(context.Context, Bundle) error) error {
	bundle := m.held.Load().bundle
	text := bundle.Path + "\n" + string(bundle.CA)
	if onBundle == nil || m.published == text {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := onBundle(ctx, bundle); err != nil {
		return fmt.Errorf("publish CAs of webhooks: %w", err)
	}
	m.published = text
	m.paths.published(m.clock.Now())
	return nil
}
