package usage

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

func TestMain(m *testing.M) {
	crds := testenv.GroupCRDs("../../../config/crd",
		"apiextensions.crossplane.io", "protection.crossplane.io", "kinship.dev")
	testenv.Main(m, crds, testenv.WithoutPods())
}

// rig is a reconciler on the real API server, without webhooks and without a controller: a test
// calls Reconcile, or a step, and sees the answer.
type rig struct {
	*reconciler

	t        *testing.T
	c        client.WithWatch
	ns       string
	recorder *events.FakeRecorder
}

// confirmed is a confirmer of an API server that calls the webhook.
type confirmed struct{}

func (confirmed) Confirm(context.Context, relation.Object) reconcile.Outcome {
	return reconcile.Outcome{}
}
func (confirmed) Confirmed(relation.Object) bool { return true }

func newRig(t *testing.T, changes ...func(*parts)) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, kinshipv1alpha1.AddToScheme, Pack(Options{}).AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	config := testenv.Config(t)
	watcher, err := relation.NewWatcher(config, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	meta, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	informers, err := cache.New(config, cache.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{ledger: newLedger(watcher)}
	p.lock = &guard.Lock{
		Label: lockLabel, Value: lockValue, Hold: p.ledger.Hold, Watcher: watcher, Metadata: meta, FieldOwner: fieldOwner,
	}
	p.ledger.admission, p.ledger.get, p.ledger.grants = true, p.store.get, p.store.grants
	p.ledger.Mark, p.ledger.Declarer, p.ledger.Target = p.lock, p.usages.Add, p.locks.Add
	for _, change := range changes { // Before informers read the parts.
		change(p)
	}
	watcher.OnObject(p.lock.Seen)
	watcher.OnObject(p.ledger.Changed)
	watcher.OnKind(p.ledger.kindChanged)
	for _, k := range kinds {
		if err := p.store.open(t.Context(), informers, k.GroupKind(), k.new(), watch.Handler(p.usageChanged)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.store.open(t.Context(), informers, grantKind, &kinshipv1alpha1.ReferenceGrant{},
		watch.Handler(func(watch.Change[client.Object]) { p.grantsChanged() })); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, c: testenv.Client(t, scheme), ns: testenv.Namespace(t), recorder: events.NewFakeRecorder(100)}
	r.reconciler = (&reconciler{
		client: r.c, writer: reconcile.Writer{Client: r.c, FieldOwner: fieldOwner, Writes: &p.writes}, metadata: meta,
		watcher: watcher, ledger: p.ledger, lock: p.lock, rules: confirmed{}, reviewer: authorise.NewReviewer(yes{}),
		events: r.recorder, ended: newEndedEvents(r.recorder), clock: clock.RealClock{},
		options: Options{GracePeriod: time.Hour}.withDefaults(), metrics: newMetrics(),
	}).init(&p.writes)
	r.run(watcher.Start, informers.Start)
	watcher.Use(object.ID{Kind: "Test"}, object.ID{Kind: "ConfigMap"}.GroupKind(), namespaceKind, relation.DefinitionKind)
	if !p.store.wait(t.Context()) {
		t.Fatal("the informers do not sync")
	}
	return r
}

// run runs functions until the end of the test, and waits for their ends.
func (r *rig) run(functions ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	ended := make(chan error, len(functions))
	for _, f := range functions {
		go func() { ended <- f(ctx) }()
	}
	r.t.Cleanup(func() {
		r.release()
		cancel()
		for range functions {
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
		}
	})
}

// release removes the finalizers of the Usages of the namespace, which would keep the namespace.
func (r *rig) release() {
	ctx := context.WithoutCancel(r.t.Context())
	list := &protectionv1beta1.UsageList{}
	if err := r.c.List(ctx, list, client.InNamespace(r.ns)); err != nil {
		r.t.Error(err)
	}
	for i := range list.Items {
		r.unhold(&list.Items[i])
	}
}

func (r *rig) create(objects ...client.Object) {
	r.t.Helper()
	for _, obj := range objects {
		obj.SetNamespace(r.ns)
		if err := r.c.Create(r.t.Context(), obj); err != nil {
			r.t.Fatal(err)
		}
	}
	r.await(objects...)
}

func (r *rig) delete(objects ...client.Object) {
	r.t.Helper()
	for _, obj := range objects {
		if err := r.c.Delete(r.t.Context(), obj); err != nil {
			r.t.Fatal(err)
		}
	}
	r.await(objects...)
}

// unhold removes the finalizers of an object.
func (r *rig) unhold(obj client.Object) {
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(r.c.Patch(context.WithoutCancel(r.t.Context()), obj, patch)); err != nil {
		r.t.Error(err)
	}
}

// read reads an object from the API server, and reports whether it exists.
func (r *rig) read(obj client.Object) bool {
	r.t.Helper()
	err := r.c.Get(r.t.Context(), client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		r.t.Fatal(err)
	}
	return err == nil
}

// await waits until the caches show the present objects.
func (r *rig) await(objects ...client.Object) {
	r.t.Helper()
	for _, obj := range objects {
		testenv.Eventually(r.t, func() error {
			want := ""
			if live := obj.DeepCopyObject().(client.Object); r.read(live) {
				want = live.GetResourceVersion()
			}
			if have := r.cached(obj); have != want {
				return fmt.Errorf("the cache shows version %q of %s, want %q", have, obj.GetName(), want)
			}
			return nil
		})
	}
}

// cached returns the version of an object in the caches, or nothing.
func (r *rig) cached(obj client.Object) string {
	if u, ok := obj.(usage); ok {
		if have := r.ledger.get(identify(u)); have != nil {
			return have.GetResourceVersion()
		}
		return ""
	}
	seen, presence := r.watcher.Get(configMapID(obj))
	if presence != relation.Present {
		return ""
	}
	return seen.Version
}

func configMapID(obj client.Object) object.ID {
	return object.ID{Kind: "ConfigMap", Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// pass runs one pass over a Usage and reads the Usage, if it still exists. A pass would only
// wait if the cache did not show the present Usage.
func (r *rig) pass(u *protectionv1beta1.Usage) (exists bool) {
	r.t.Helper()
	r.await(u)
	if _, err := r.Reconcile(r.t.Context(), identify(u)); err != nil {
		r.t.Logf("the pass failed: %v", err)
	}
	return r.read(u)
}

// protect creates a Usage and runs its two passes without a webhook: the first one adds the
// finalizer.
func (r *rig) protect(u *protectionv1beta1.Usage) {
	r.t.Helper()
	r.create(u)
	r.pass(u)
	r.pass(u)
}

// ready fails unless condition Ready has a reason. An empty reason means that Ready is True.
func (r *rig) ready(u *protectionv1beta1.Usage, reason string) {
	r.t.Helper()
	c := readyCondition(u)
	switch {
	case c == nil:
		r.t.Fatalf("%s has no condition Ready", u.Name)
	case reason == "" && c.Status != metav1.ConditionTrue, reason != "" && c.Reason != reason:
		r.t.Fatalf("%s: Ready is %s: %s: %s, want reason %q", u.Name, c.Status, c.Reason, c.Message, reason)
	}
}

// locked fails unless an object has the lock, or does not have it.
func (r *rig) locked(obj client.Object, want bool) {
	r.t.Helper()
	if r.read(obj); (obj.GetLabels()[lockLabel] == lockValue) != want {
		r.t.Fatalf("the labels of %s are %v, want the lock: %t", obj.GetName(), obj.GetLabels(), want)
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func named(name string) sharedv1alpha1.Resource {
	return sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: name},
	}
}

// uses returns a Usage of ConfigMap "used" by ConfigMap "using".
func uses(name string) *protectionv1beta1.Usage {
	by := named("using")
	u := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.Spec.Of, u.Spec.By = named("used"), &by
	return u
}
