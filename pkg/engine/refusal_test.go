package engine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// secretRights takes the right to read Secrets, and gives the right back.
type secretRights struct {
	http.RoundTripper

	mu      sync.Mutex
	refused bool
	watches []io.Closer
}

// RoundTrip implements http.RoundTripper.
func (r *secretRights) RoundTrip(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/secrets") {
		return r.RoundTripper.RoundTrip(request)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused {
		const text = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,` +
			`"message": "the right to read secrets is missing"}`
		return &http.Response{
			StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
			Body: io.NopCloser(strings.NewReader(text)),
		}, nil
	}
	response, err := r.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Has("watch") {
		r.watches = append(r.watches, response.Body)
	}
	return response, err
}

// refuse takes the right, as after the deletion of a RoleBinding: the API server ends no watch, and refuses the next.
func (r *secretRights) refuse(refused bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = refused
	for _, w := range r.watches {
		_ = w.Close()
	}
	r.watches = nil
}

// TestRefusalWakes: an object that waits for an object of another kind says so at once when the operator loses the
// right to read the kind, and when the operator gets the right back.
func TestRefusalWakes(t *testing.T) {
	config, rights := testenv.Config(t), &secretRights{}
	config.Wrap(func(to http.RoundTripper) http.RoundTripper {
		rights.RoundTripper = to
		return rights
	})
	health := &watch.Health{Log: logr.Discard()}
	factory := &watch.Factory{Scheme: scheme.Scheme, Health: health}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{NewInformer: factory.New},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := object.ID{Kind: "ConfigMap", Namespace: testenv.Namespace(t), Name: "user"}
	e := engine.New(mgr, engine.Options{Name: "refusal.example", Health: health, Live: testenv.Client(t, nil)})
	var mu sync.Mutex
	says := ""
	e.Watch(corev1.SchemeGroupVersion.WithKind("Secret"))
	e.Add(engine.Kind{
		GVK: mapKind, Example: &corev1.ConfigMap{},
		Relations: []relation.Relation{relation.Reference{
			Name: "map-secret", Role: relation.Dependency, Declarer: mapKind.GroupKind(),
			Path: relation.MustPath("data.secret"), Target: corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(),
		}.Relation()},
		Reconciler: passFunc(func(_ context.Context, passed object.ID) {
			mu.Lock()
			defer mu.Unlock()
			if passed == id && e.Get(id) != nil {
				says = e.Resolve(mapKind.GroupKind(), e.Get(id), false).Waits().Message()
			}
		}),
	})
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	testenv.Apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: user}\ndata: {secret: none}\n",
		testenv.In(id.Namespace))
	const waits, refusal = "Waiting for Secret/none to be created", ": the operator may not read its kind: "
	expect := func(want func(string) bool) {
		t.Helper()
		testenv.Eventually(t, func() error {
			mu.Lock()
			defer mu.Unlock()
			if !want(says) {
				return fmt.Errorf("the object says %q", says)
			}
			return nil
		})
	}
	isWaiting := func(text string) bool { return text == waits }
	expect(isWaiting)
	rights.refuse(true)
	expect(func(text string) bool { return strings.HasPrefix(text, waits+refusal) })
	rights.refuse(false)
	expect(isWaiting)
}

// passFunc is a reconciler that never waits.
type passFunc func(context.Context, object.ID)

// Reconcile implements reconcile.TypedReconciler.
func (f passFunc) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	f(ctx, id)
	return ctrl.Result{}, nil
}
