package certificate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/kinship-dev/kinship/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks())
}

// testOptions returns options for a Secret in a namespace of the test's own, and
// a rotation that takes moments.
func testOptions(t *testing.T, namespace string) Options {
	t.Helper()
	return Options{
		Client:           testenv.Client(t, nil),
		Secret:           types.NamespacedName{Namespace: namespace, Name: "webhook-certificates"},
		Names:            names,
		PropagationDelay: 10 * time.Millisecond,
		RetireAfter:      10 * time.Millisecond,
	}
}

func mustEnsure(t *testing.T, m *Manager) Bundle {
	t.Helper()
	bundle, err := m.Ensure(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	return log.IntoContext(t.Context(), testr.New(t))
}

// start runs a replica until the test ends.
func start(t *testing.T, m *Manager) {
	t.Helper()
	ctx := testContext(t) // ends before the clean-up that waits
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Errorf("Start: %v", err)
		}
	})
}

func stored(t *testing.T, m *Manager) (*corev1.Secret, *state) {
	t.Helper()
	secret, s, err := m.read(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		t.Fatal("the Secret holds no state")
	}
	return secret, s
}

func TestReplicasThatStartAtOnceShareOneAuthority(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	const replicas = 8
	bundles := make([]Bundle, replicas)
	var all sync.WaitGroup
	for i := range replicas {
		m := New(options)
		all.Go(func() {
			var err error
			if bundles[i], err = m.Ensure(t.Context()); err != nil {
				t.Errorf("replica %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for i, b := range bundles {
		if !bytes.Equal(b.CA, bundles[0].CA) || !b.Certificate.Leaf.Equal(bundles[0].Certificate.Leaf) {
			t.Errorf("replica %d serves another certificate than replica 0", i)
		}
	}
}

func TestEnsureAgainWritesNothing(t *testing.T) {
	m := New(testOptions(t, testenv.Namespace(t)))
	if _, err := m.GetCertificate(nil); err == nil {
		t.Error("a certificate is served before any was read")
	}
	if _, known := m.Current(); known {
		t.Error("Current knows something before anything was read")
	}
	first := mustEnsure(t, m)
	before, _ := stored(t, m)
	mustEnsure(t, m)
	if after, _ := stored(t, m); after.ResourceVersion != before.ResourceVersion {
		t.Error("nothing was due, and the Secret was written")
	}
	served, err := m.GetCertificate(nil)
	if err != nil || !served.Leaf.Equal(first.Certificate.Leaf) {
		t.Errorf("GetCertificate serves something else: %v", err)
	}
	if current, known := m.Current(); !known || !bytes.Equal(current.CA, first.CA) {
		t.Error("Current knows something else than Ensure returned")
	}
}

func TestSecretThatIsThereAlready(t *testing.T) {
	cases := map[string]struct {
		reason string
		data   map[string][]byte
		want   error
	}{
		"empty": {
			reason: "a chart may create it, so that the operator needs no right to create Secrets",
			data:   map[string][]byte{"tls.crt": {}, "tls.key": {}},
		},
		"damaged": {
			reason: "ours, and of no use to anybody as it is",
			data:   map[string][]byte{"tls.crt": []byte("x"), "tls.key": {}, keyRecord: []byte("{")},
		},
		"foreign": {
			reason: "a mistyped name must not destroy somebody's keys",
			data:   map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("y")},
			want:   errForeign,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			options := testOptions(t, testenv.Namespace(t))
			secret := &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: options.Secret.Namespace, Name: options.Secret.Name},
				Type:       corev1.SecretTypeTLS, Data: tc.data,
			}
			if err := options.Client.Create(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			m := New(options)
			if _, err := m.Ensure(testContext(t)); !errors.Is(err, tc.want) {
				t.Fatalf("%s: Ensure: %v, want %v", tc.reason, err, tc.want)
			}
			if tc.want == nil {
				stored(t, m)
			}
		})
	}
}

func TestChangedNamesAreServedAtOnce(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	before := mustEnsure(t, New(options))
	options.Names = []string{"moved.svc"}
	after := mustEnsure(t, New(options))
	if err := after.Certificate.Leaf.VerifyHostname("moved.svc"); err != nil {
		t.Error(err)
	}
	if !bytes.Equal(before.CA, after.CA) {
		t.Error("another name needs no other CA")
	}
}

// follower collects the bundles of OnBundle; while broken is set, it returns an error.
type follower struct {
	mu     sync.Mutex
	calls  int
	last   []byte
	broken bool
}

func (f *follower) onBundle(_ context.Context, bundle Bundle) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.broken {
		return errors.New("the webhook configuration cannot be written")
	}
	f.last = bundle.CA
	return nil
}

func (f *follower) set(broken bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.broken = broken
}

func (f *follower) seen() (int, []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.last
}

// rotate begins a rotation, as a replica does when the end of the CA is near.
func rotate(t *testing.T, m *Manager) {
	t.Helper()
	secret, s := stored(t, m)
	after, err := m.policy.perform(announce, s, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.write(t.Context(), secret, after); err != nil {
		t.Fatal(err)
	}
}

// rotated waits until the replica serves from another CA than before, alone in
// the bundle and published.
func rotated(t *testing.T, m *Manager, before Bundle, f *follower) {
	t.Helper()
	testenv.Eventually(t, func() error {
		now, known := m.Current()
		_, published := f.seen()
		switch {
		case !known || now.Certificate.Leaf.Equal(before.Certificate.Leaf):
			return errors.New("the old certificate is served")
		case bytes.Contains(now.CA, before.CA):
			return errors.New("the old authority is trusted")
		case !bytes.Equal(published, now.CA):
			return errors.New("the bundle is not published")
		}
		return nil
	})
}

func TestRotateReachesEveryReplica(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	var replicas [3]*Manager
	var followers [3]follower
	before := mustEnsure(t, New(options))
	for i := range replicas {
		options.OnBundle = followers[i].onBundle
		replicas[i] = New(options)
		if replicas[i].NeedLeaderElection() {
			t.Fatal("only the leader would follow")
		}
		start(t, replicas[i])
	}
	rotate(t, replicas[0])
	for i, m := range replicas {
		rotated(t, m, before, &followers[i])
	}
}

func TestRotationWaitsForPublicationAndContinuesAfterARestart(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	f := &follower{broken: true}
	options.OnBundle = f.onBundle

	first := New(options)
	before := mustEnsure(t, first)
	rotate(t, first)
	second := New(options) // the first is gone, in phase 1
	start(t, second)
	testenv.Eventually(t, func() error {
		if calls, _ := f.seen(); calls < 2 {
			return fmt.Errorf("OnBundle was called %d times", calls)
		}
		return nil
	})
	if now, _ := second.Current(); !now.Certificate.Leaf.Equal(before.Certificate.Leaf) {
		t.Fatal("nobody was told of the new authority, and its certificate is served")
	}
	f.set(false)
	rotated(t, second, before, f)
}

func TestDeletedSecretIsRestoredWithOverlap(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	f := &follower{}
	options.OnBundle = f.onBundle
	options.PropagationDelay = time.Hour // so that the rotation stops after phase 1
	m := New(options)
	before := mustEnsure(t, m)
	start(t, m)

	secret, _ := stored(t, m)
	if err := options.Client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if _, published := f.seen(); !bytes.HasPrefix(published, before.CA) || len(published) == len(before.CA) {
			return errors.New("the bundle is not old and new")
		}
		return nil
	})
	if now, _ := m.Current(); !now.Certificate.Leaf.Equal(before.Certificate.Leaf) {
		t.Error("the served certificate changed before its authority could be known")
	}
}

// TestSecretDeletedBeforeTheWatch: a watch reports no deletion from before the watch.
func TestSecretDeletedBeforeTheWatch(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	f := &follower{}
	options.OnBundle = f.onBundle
	options.PropagationDelay = time.Hour // so that the rotation stops after phase 1
	m := New(options)
	before := mustEnsure(t, m)
	secret, _ := stored(t, m)
	if err := options.Client.Delete(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	start(t, m)
	testenv.Eventually(t, func() error {
		if _, published := f.seen(); !bytes.HasPrefix(published, before.CA) || len(published) == len(before.CA) {
			return errors.New("the bundle is not old and new")
		}
		return nil
	})
}

// TestWatchRefused: without a watch the certificate is still created and published.
func TestWatchRefused(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	f := &follower{}
	options.OnBundle = f.onBundle
	options.Client = blind{options.Client}
	start(t, New(options))
	testenv.Eventually(t, func() error {
		if _, published := f.seen(); len(published) == 0 {
			return errors.New("no CA is published")
		}
		return nil
	})
}

// blind is a client that cannot watch.
type blind struct{ client.WithWatch }

// Watch implements client.WithWatch.
func (blind) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.New("no watch")
}

// lid is the clock of a laptop. Timers stand still while the lid is closed; the time of day
// does not.
type lid struct {
	*clocktesting.FakeClock

	closed atomic.Int64
}

// Now implements clock.PassiveClock.
func (l *lid) Now() time.Time { return l.FakeClock.Now().Add(time.Duration(l.closed.Load())) }

// TestExpiredWhileAsleep: the lid was closed until after the end of the certificate, which
// is renewed a minute later.
func TestExpiredWhileAsleep(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	f := &follower{}
	options.OnBundle = f.onBundle
	laptop := &lid{FakeClock: clocktesting.NewFakeClock(time.Now())}
	m := New(options)
	m.clock = laptop
	before := mustEnsure(t, m)
	start(t, m)
	testenv.Eventually(t, func() error {
		if !laptop.HasWaiters() {
			return errors.New("the replica is not yet idle")
		}
		return nil
	})
	laptop.closed.Store(int64(100 * day))
	laptop.Step(clockCheck)
	testenv.Eventually(t, func() error {
		if now, _ := m.Current(); !now.Certificate.Leaf.NotAfter.After(before.Certificate.Leaf.NotAfter) {
			return errors.New("the expired certificate is served")
		}
		return nil
	})
}

// TestIdleCost counts requests while time passes on a clock that the test moves.
func TestIdleCost(t *testing.T) {
	counter := &requests{}
	config := testenv.Config(t)
	config.Wrap(counter.wrap)
	clock := clocktesting.NewFakeClock(time.Now())
	options := testOptions(t, testenv.Namespace(t))
	options.Client = testenv.ClientFor(t, config, nil)
	f := &follower{}
	options.OnBundle = f.onBundle

	m := New(options)
	m.clock = clock
	before := mustEnsure(t, m)
	start(t, m)
	testenv.Eventually(t, func() error {
		if counter.watches() == 0 || !clock.HasWaiters() {
			return errors.New("the replica is not yet idle")
		}
		return nil
	})
	gets, writes := counter.counts()
	clock.Step(44 * day)
	if g, w := counter.counts(); g != gets || w != writes {
		t.Errorf("nothing was due, and %d reads and %d writes were made", g-gets, w-writes)
	}
	clock.Step(2 * day)
	testenv.Eventually(t, func() error {
		now, _ := m.Current()
		if now.Certificate.Leaf.Equal(before.Certificate.Leaf) {
			clock.Step(clockCheck) // The replica may have read the clock before, and begun to wait after the step.
			return errors.New("the certificate was not renewed")
		}
		if !bytes.Equal(now.CA, before.CA) {
			return errors.New("the authority changed")
		}
		return nil
	})
	if _, w := counter.counts(); w != writes+1 {
		t.Errorf("a renewal took %d writes, want 1", w-writes)
	}
	testenv.Eventually(t, func() error {
		if calls, _ := f.seen(); calls != 2 {
			return fmt.Errorf("OnBundle was called %d times, want 2: at the start and for the new path", calls)
		}
		return nil
	})
}

func TestUnreachableSecretIsAnError(t *testing.T) {
	options := testOptions(t, testenv.Namespace(t))
	options.Client = testenv.ClientFor(t, testenv.As(t, "nobody"), nil)
	m := New(options)
	if _, err := m.Ensure(testContext(t)); !apierrors.IsForbidden(err) {
		t.Errorf("Ensure: %v, want that reading is forbidden", err)
	}
}

// TestPermissions rotates with no more rights than doc.go asks for.
func TestPermissions(t *testing.T) {
	namespace := testenv.Namespace(t)
	testenv.Apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: certificates}
rules:
- {apiGroups: [""], resources: [secrets], verbs: [create]}
- {apiGroups: [""], resources: [secrets], resourceNames: [webhook-certificates], verbs: [get, watch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: certificates}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: certificates}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: "`+namespace+`"}]
`, testenv.In(namespace))
	options := testOptions(t, namespace)
	options.Client = testenv.ClientFor(t, testenv.As(t, namespace), nil)
	f := &follower{}
	options.OnBundle = f.onBundle
	m := New(options)
	var before Bundle
	testenv.Eventually(t, func() (err error) { // the authorizer learns of the role
		before, err = m.Ensure(testContext(t))
		return err
	})
	start(t, m)
	rotate(t, m)
	rotated(t, m, before, f)
	// The replica hears of the rotation only if the watch works.
	var all corev1.SecretList
	if err := options.Client.List(t.Context(), &all, client.InNamespace(namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("the role allows to list every Secret: %v", err)
	}
}
