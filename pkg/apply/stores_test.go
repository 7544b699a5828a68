package apply_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// passes records for which parents a controller was woken.
type passes struct {
	mu  sync.Mutex
	ids []object.ID
}

func (p *passes) Reconcile(_ context.Context, id object.ID) (ctrl.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids = append(p.ids, id)
	return ctrl.Result{}, nil
}

// drain waits until a parent was woken, and forgets all passes so far.
func (p *passes) drain(t *testing.T, why string, parent object.ID) {
	t.Helper()
	testenv.Eventually(t, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !slices.Contains(p.ids, parent) {
			return fmt.Errorf("%s: %s was not woken, only %v", why, parent, p.ids)
		}
		p.ids = nil
		return nil
	})
}

// withStores runs a controller that the Stores of one kind wake.
func withStores(t *testing.T, l *life, example client.Object) (*apply.Stores, *passes) {
	t.Helper()
	scheme := l.c.Scheme()
	informers := &watch.Factory{Scheme: scheme, Health: &watch.Health{}} // Its metadata watches leave no goroutine behind.
	mgr, err := manager.New(testenv.Config(t), manager.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{NewInformer: informers.New},
	})
	if err != nil {
		t.Fatal(err)
	}
	woken, queue := &passes{}, &reconcile.Queue{}
	s := &apply.Stores{Parent: configMaps.GroupKind(), Queue: queue, Applier: &l.Applier}
	kind := apply.Kind{GroupKind: configMaps.GroupKind(), Example: example}
	if err := s.Add(t.Context(), mgr.GetCache(), kind); err != nil {
		t.Fatal(err)
	}
	l.View = s
	if err := (reconcile.Controller{
		Name: "parents", Reconciler: woken, Queue: queue, Workers: 1, Heard: s.Heard, All: func() []object.ID { return nil },
	}).AddTo(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	testenv.Eventually(t, func() error {
		if !queue.Running() {
			return fmt.Errorf("the controller does not run yet")
		}
		return nil
	})
	return s, woken
}

// TestStores shows that caches of every type serve as a View, and wake parents.
func TestStores(t *testing.T) {
	bare := &unstructured.Unstructured{}
	bare.SetGroupVersionKind(configMaps)
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(configMaps)
	for name, example := range map[string]client.Object{
		"Go type": &corev1.ConfigMap{}, "Unstructured": bare, "PartialObjectMetadata": metadata,
	} {
		t.Run(name, func(t *testing.T) { testStores(t, example) })
	}
}

func testStores(t *testing.T, example client.Object) {
	t.Helper()
	w, there := newWorld(t), testenv.Namespace(t)
	l := w.life(nil)
	s, woken := withStores(t, l, example)
	parent := object.Of(w.parent, configMaps.GroupKind())
	want := []apply.Object{w.configMap("a", 0, "x=1"), w.unowned(there, "far", "x=1")}
	equal(t, "changes", "created ConfigMap/a, ConfigMap/far", l.must(want...).Changes.String())
	woken.drain(t, "creation", parent)
	testenv.Eventually(t, func() error {
		if n := len(s.ComposedOf(w.parent.UID, configMaps.GroupKind())); n != 2 {
			return fmt.Errorf("%d objects of the parent are in the cache", n)
		}
		return nil
	})
	equal(t, "again", "2 unchanged", l.must(want...).Changes.String())

	edit := func(ns, name string) {
		t.Helper()
		cm := w.existing(ns, name)
		cm.Data["x"] = "edited"
		if err := w.c.Update(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	edit(w.ns, "a")
	woken.drain(t, "edit of an owned object", parent)
	equal(t, "after the edit", "updated ConfigMap/a; 1 unchanged", l.must(want...).Changes.String())
	woken.drain(t, "own write", parent)
	edit(there, "far")
	woken.drain(t, "edit of an unowned object", parent)
	equal(t, "after the edit", "updated ConfigMap/far; 1 unchanged", l.must(want...).Changes.String())
	woken.drain(t, "own write", parent)

	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "taken"}}
	if err := w.c.Create(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	want = slices.Concat(want, []apply.Object{w.configMap("taken", 0)})
	result := l.must(want...)
	foreign := result.Changes.Of(apply.Foreign)
	equal(t, "taken", "2 unchanged; foreign ConfigMap/taken", result.Changes.String())
	s.WaitFor(parent, foreign...)
	if err := w.c.Delete(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	woken.drain(t, "deletion of the object in the way", parent)
	equal(t, "free", "created ConfigMap/taken; 2 unchanged", l.must(want...).Changes.String())
	if _, err := l.destroy(); err != nil {
		t.Fatal(err)
	}
}
