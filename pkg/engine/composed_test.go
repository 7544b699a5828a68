package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

var (
	mapKind     = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	serviceKind = corev1.SchemeGroupVersion.WithKind("Service").GroupKind()
)

// passes counts the passes over ConfigMaps by their names.
type passes struct {
	mu    sync.Mutex
	count map[string]int
}

func (p *passes) Reconcile(_ context.Context, id object.ID) (ctrl.Result, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count[id.Name]++
	return ctrl.Result{}, nil
}

func (p *passes) of(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[name]
}

// startComposed starts an engine whose ConfigMaps name a Service in data.service. The engine knows Services
// at run time only. A change of labels concerns the ConfigMap "curious" alone.
func startComposed(t *testing.T, namespace string, p *passes) *engine.Engine {
	t.Helper()
	config := testenv.Config(t)
	watcher, err := relation.NewWatcher(config, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	watcher.In(namespace)
	watcher.Keep(func(u *unstructured.Unstructured) client.Object { return u })
	factory := &watch.Factory{Scheme: scheme.Scheme, Health: &watch.Health{}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{NewInformer: factory.New},
	})
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(mgr, engine.Options{Name: "composed.example", Watcher: watcher, Live: testenv.Client(t, nil)})
	e.Add(engine.Kind{
		GVK: mapKind, Example: &corev1.ConfigMap{}, Reconciler: ctrlreconcile.TypedReconciler[object.ID](p),
		Relations: []relation.Relation{relation.Reference{
			Name: "map-service", Role: relation.Binding, Declarer: mapKind.GroupKind(),
			Path: relation.MustPath("data.service"), Target: serviceKind,
		}.Relation()},
		Composed: func(id object.ID, c relation.Change) bool {
			return id.Name == "curious" || c.Old == nil || c.New == nil || c.Old.Controller != c.New.Controller
		},
	})
	for _, start := range []error{watcher.Refresh(t.Context()), mgr.Add(watcher), e.Start(t.Context())} {
		if start != nil {
			t.Fatal(start)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return e
}

// TestComposed: a change of an object of a kind that is known at run time concerns its controller, and the
// objects that refer to it or to its controller, or wait for it.
func TestComposed(t *testing.T) {
	namespace, p := testenv.Namespace(t), &passes{count: map[string]int{}}
	e, c := startComposed(t, namespace, p), testenv.Client(t, nil)
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {service: %s}\n"
	owner := testenv.Apply(t, fmt.Sprintf(text, "owner", "none"), testenv.In(namespace))[0]
	services := map[string]string{"user": "front", "curious": "front", "waiter": "other", "bystander": "other"}
	for name, service := range services {
		testenv.Apply(t, fmt.Sprintf(text, name, service), testenv.In(namespace))
	}
	all := []string{"owner", "user", "curious", "waiter", "bystander"}
	await := func(names ...string) {
		t.Helper()
		testenv.Eventually(t, func() error {
			for _, name := range names {
				if p.of(name) == 0 {
					return fmt.Errorf("there was no pass over %s", name)
				}
			}
			return nil
		})
	}
	// quiet waits until a pass over each object is done, and forgets the passes.
	quiet := func() {
		t.Helper()
		p.mu.Lock()
		clear(p.count)
		p.mu.Unlock()
	}
	id := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Namespace: namespace, Name: name} }
	await(all...)
	if outcome := e.Use(id("owner"), serviceKind); !outcome.IsPassing() {
		t.Errorf("a kind that is being listed is told with %q", outcome.Message())
	}
	testenv.Eventually(t, func() error {
		if outcome := e.Use(id("owner"), serviceKind); !outcome.IsDone() {
			return errors.New(outcome.Message())
		}
		return nil
	})
	e.WaitFor(id("waiter"), object.ID{Kind: "Service", Namespace: namespace, Name: "front"})
	quiet()
	service := testenv.Apply(t, "apiVersion: v1\nkind: Service\nmetadata: {name: front}\nspec: {ports: [{port: 80}]}\n",
		testenv.In(namespace))[0]
	await("user", "curious", "waiter")
	quiet()
	service.SetLabels(map[string]string{"tier": "web"})
	if err := c.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	await("curious", "waiter") // Composed is asked for user before, and for curious.
	if p.of("user") > 0 {
		t.Error("the change of a label requeued user")
	}
	quiet()
	service.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, mapKind)})
	if err := c.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	await("owner", "user", "curious", "waiter")
	quiet()
	service.SetOwnerReferences(nil)
	if err := c.Update(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	await("owner")
	if p.of("bystander") > 0 {
		t.Error("a Service that bystander does not name requeued bystander")
	}
	front := object.ID{Kind: "Service", Namespace: namespace, Name: "front"}
	if got := e.Sources(front, ""); !slices.Contains(got, id("user")) {
		t.Errorf("the sources of the Service are %v", got)
	}
}
