package certificate

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// publishTimeout bounds one call of OnBundle: while it hangs, no certificate is
// renewed.
const publishTimeout = 30 * time.Second

var (
	_ manager.Runnable               = (*Manager)(nil)
	_ manager.LeaderElectionRunnable = (*Manager)(nil)
)

// NeedLeaderElection returns false: every replica serves, so every replica has
// to follow the Secret.
func (m *Manager) NeedLeaderElection() bool { return false }

// Start follows the Secret and does what becomes due, until the context ends. It
// is woken by a change of the Secret and by a timer for the next moment at which
// something is due. Failures are logged and tried again with growing pauses; it
// returns no error.
func (m *Manager) Start(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	var watching sync.WaitGroup
	watching.Go(func() { m.watch(ctx, wake) })
	defer watching.Wait()

	r := &runner{manager: m, pauses: newPauses()}
	for ctx.Err() == nil {
		timer := m.options.Clock.NewTimer(r.run(ctx))
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer.C():
		}
		timer.Stop()
	}
	return nil
}

// runner is what one Start remembers.
type runner struct {
	manager *Manager
	// published is the bundle that OnBundle last accepted from this process.
	published []byte
	pauses    wait.Backoff
}

func newPauses() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 5 * time.Minute}
}

// run does what is due and returns how long nothing will be.
func (r *runner) run(ctx context.Context) time.Duration {
	at, err := r.advance(ctx)
	if err != nil {
		pause := r.pauses.Step()
		if ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Could not keep webhook certificates, will try again",
				"secret", r.manager.options.Secret, "pause", pause)
		}
		return pause
	}
	r.pauses = newPauses()
	return max(0, at.Sub(r.manager.now()))
}

// advance goes through the phases until the next one has to wait for time.
func (r *runner) advance(ctx context.Context) (time.Time, error) {
	m := r.manager
	for range maxTries {
		next, err := m.settle(ctx)
		if err != nil {
			return time.Time{}, err
		}
		trusted := m.held.Load()
		if err := r.publish(ctx, trusted.bundle.CA); err != nil {
			return time.Time{}, err
		}
		if next.do == idle {
			return next.at, nil
		}
		if err := m.recordPublished(ctx, trusted); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, m.errUnsettled()
}

func (r *runner) publish(ctx context.Context, caPEM []byte) error {
	if bytes.Equal(r.published, caPEM) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	if err := r.manager.options.OnBundle(ctx, caPEM); err != nil {
		return fmt.Errorf("publish certificate authorities of webhooks: %w", err)
	}
	r.published = caPEM
	return nil
}

// watch wakes the loop when the Secret becomes another than the one in memory.
// It asks for metadata only: the loop reads the Secret itself, and no second copy
// of the keys is kept.
func (m *Manager) watch(ctx context.Context, wake chan<- struct{}) {
	changed := func(obj any) {
		secret, isMeta := obj.(*metav1.PartialObjectMetadata)
		if h := m.held.Load(); isMeta && h != nil && secret.ResourceVersion == h.version {
			return // our own write, or what was just read
		}
		wakeUp(wake)
	}
	seen, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: m.listWatch(),
		ObjectType:    &metav1.PartialObjectMetadata{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    changed,
			UpdateFunc: func(_, obj any) { changed(obj) },
			DeleteFunc: func(any) { wakeUp(wake) },
		},
	})
	var running sync.WaitGroup
	running.Go(func() { informer.RunWithContext(ctx) })
	defer running.Wait()
	if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) && len(seen.ListKeys()) == 0 {
		wakeUp(wake) // It went before the watch began, which tells nothing of that.
	}
}

// wakeUp never blocks: one pending wake-up is as good as many.
func wakeUp(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

func (m *Manager) listWatch() *cache.ListWatch {
	options := func(o metav1.ListOptions) *client.ListOptions {
		return &client.ListOptions{
			Namespace:     m.options.Secret.Namespace,
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, m.options.Secret.Name),
			Raw:           &o,
		}
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list := newSecretList()
			return list, m.options.Client.List(ctx, list, options(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return m.options.Client.Watch(ctx, newSecretList(), options(o))
		},
	}
}

func newSecretList() *metav1.PartialObjectMetadataList {
	return &metav1.PartialObjectMetadataList{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"},
	}
}
