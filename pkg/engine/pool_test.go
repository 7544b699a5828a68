package engine_test

import (
	"context"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinship-dev/kinship/examples/library"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestPool: with one worker for all kinds, the passes over all kinds and the guards of all kinds are done, and no two
// passes at the same time.
func TestPool(t *testing.T) {
	h := &harbour{t: t, c: testenv.Client(t, nil), namespace: testenv.Namespace(t)}
	h.apply("Pier", "north")
	h.apply("Pier", "south")
	h.apply("Ship", "before", "pierRef: north") // Exists before the operator starts.
	factory := &watch.Factory{Scheme: scheme.Scheme, Health: &watch.Health{}}
	mgr, err := ctrl.NewManager(testenv.Config(t), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{NewInformer: factory.New},
		NewCache: func(config *rest.Config, options cache.Options) (cache.Cache, error) {
			create := func(o cache.Options) (cache.Cache, error) { return cache.New(config, o) }
			return watch.NewCache(options, create, h.namespace)
		},
	})
	h.must(err)
	var running sync.Mutex
	work := func(context.Context, *engine.Work) reconcile.Outcome {
		if !running.TryLock() {
			t.Error("two passes at the same time")
			return reconcile.Outcome{}
		}
		defer running.Unlock()
		return reconcile.Outcome{}
	}
	h.engine = engine.New(mgr, engine.Options{Name: "pool.example", Live: h.c, Pool: 1, GuardWorkers: 1})
	harbourKind := library.Ships[0].Declarer.WithVersion("v1").GroupVersion()
	h.engine.Add(engine.Kind{GVK: harbourKind.WithKind("Pier"), Ready: engine.IsReady})
	h.engine.Add(engine.Kind{GVK: harbourKind.WithKind("Ship"), Relations: library.Ships[:1], Work: work})
	h.engine.Add(engine.Kind{GVK: harbourKind.WithKind("Flag"), Work: work})
	h.must(h.engine.Start(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() { h.must(<-ended) })

	h.expectReady("Ship", "before", "Waiting for Pier/north to be ready")
	h.apply("Ship", "after", "pierRef: south")
	h.apply("Flag", "flag")
	h.expectReady("Flag", "flag", ready)
	h.serve("north")
	h.serve("south")
	h.expectReady("Ship", "before", ready)
	h.expectReady("Ship", "after", ready)
	if !h.engine.Running(harbourKind.WithKind("Flag").GroupKind()) {
		t.Error("the reconciler of Flags does not run")
	}
	for ship, pier := range map[string]string{"before": "north", "after": "south"} {
		h.must(h.c.Delete(t.Context(), h.get("Pier", pier)))
		if h.get("Pier", pier) == nil {
			t.Errorf("Pier %s is gone before its Ship", pier)
		}
		h.must(h.c.Delete(t.Context(), h.get("Ship", ship)))
		h.expectGone("Pier", pier)
	}
}
