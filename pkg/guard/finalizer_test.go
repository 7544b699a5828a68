package guard_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

const (
	subnetGuard = "test.kinship.dev/subnet"
	portGuard   = "test.kinship.dev/port"
	theirs      = "elsewhere.example/theirs"
)

// guarding is a ConfigMap with Finalizers whose InUse a test sets.
type guarding struct {
	*guard.Finalizers

	t      *testing.T
	client client.Client
	object *corev1.ConfigMap
	cached *corev1.ConfigMap // the state in the cache, if the cache is late
	writes int               // of finalizers
	used   map[string]bool
	fails  error
	// refused is what the next apply is answered with.
	refused error
}

// applying is a client that counts applies.
type applying struct {
	client.Client

	count *int
	// fails, if set, is returned once instead of an apply.
	fails *error
}

// Apply implements client.Client.
func (a applying) Apply(
	ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
) error {
	*a.count++
	if err := *a.fails; err != nil {
		*a.fails = nil
		return err
	}
	return a.Client.Apply(ctx, obj, opts...)
}

func newGuarding(t *testing.T, finalizers ...string) *guarding {
	t.Helper()
	g := &guarding{t: t, client: testenv.Client(t, nil), used: map[string]bool{}}
	g.object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: testenv.Namespace(t), Name: "net", Finalizers: finalizers,
	}}
	if err := g.client.Create(t.Context(), g.object); err != nil {
		t.Fatal(err)
	}
	g.Finalizers = &guard.Finalizers{
		Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Names: []string{portGuard, subnetGuard},
		Client: applying{g.client, &g.writes, &g.refused},
		Get: func(object.ID) metav1.Object {
			if g.cached != nil {
				return g.cached
			}
			return g.read()
		},
		InUse: func(_ context.Context, _ object.ID, name string) (bool, error) { return g.used[name], g.fails },
	}
	t.Cleanup(func() {
		obj := g.read()
		obj.Finalizers = nil
		if err := g.client.Update(context.WithoutCancel(t.Context()), obj); err != nil {
			t.Error(err)
		}
	})
	return g
}

func (g *guarding) read() *corev1.ConfigMap {
	g.t.Helper()
	obj := &corev1.ConfigMap{}
	if err := g.client.Get(context.WithoutCancel(g.t.Context()), client.ObjectKeyFromObject(g.object), obj); err != nil {
		g.t.Fatal(err)
	}
	return obj
}

func (g *guarding) held(name string) bool {
	g.t.Helper()
	held, err := g.Hold(g.t.Context(), g.read(), name)
	if err != nil {
		g.t.Fatal(err)
	}
	g.used[name] = g.used[name] || held
	return held
}

func (g *guarding) reconcile() error {
	_, err := g.Reconcile(g.t.Context(), object.Of(g.object, configMap))
	return err
}

func (g *guarding) want(finalizers ...string) {
	g.t.Helper()
	got := g.read().Finalizers
	slices.Sort(got)
	slices.Sort(finalizers)
	if diff := cmp.Diff(finalizers, got); diff != "" {
		g.t.Errorf("finalizers (-want +got):\n%s", diff)
	}
}

// TestFinalizers: each referring kind has its own finalizer, other finalizers are not changed,
// and Hold writes nothing if the finalizer is there.
func TestFinalizers(t *testing.T) {
	g := newGuarding(t, theirs)
	if !g.held(subnetGuard) || !g.held(portGuard) {
		t.Fatal("not held")
	}
	g.want(theirs, subnetGuard, portGuard)
	before := g.read().ResourceVersion
	if !g.held(subnetGuard) {
		t.Error("not held")
	}
	if err := g.reconcile(); err != nil {
		t.Error(err)
	}
	if g.read().ResourceVersion != before {
		t.Error("something was written although nothing changed")
	}
	g.used[subnetGuard] = false
	if err := g.reconcile(); err != nil {
		t.Error(err)
	}
	g.want(theirs, portGuard)
}

// TestFinalizersOfOneOwner: finalizers with the same field manager are added and removed one by
// one.
func TestFinalizersOfOneOwner(t *testing.T) {
	const owner = "test.kinship.dev/controller"
	g := newGuarding(t, theirs)
	g.FieldOwners = map[string]string{subnetGuard: owner, portGuard: owner}
	before := g.read()
	if !g.held(subnetGuard) {
		t.Fatal("not held")
	}
	g.cached = before
	if held, err := g.Hold(t.Context(), before, portGuard); held || err != nil {
		t.Errorf("held: %t, although the cache does not show what the field manager has applied; error %v", held, err)
	}
	g.want(theirs, subnetGuard)
	g.cached = nil
	if !g.held(portGuard) {
		t.Fatal("not held")
	}
	g.want(theirs, subnetGuard, portGuard)
	for _, f := range g.read().ManagedFields {
		if f.Operation == metav1.ManagedFieldsOperationApply && f.Manager != owner {
			t.Errorf("%s has applied something", f.Manager)
		}
	}
	g.used[subnetGuard] = false
	if err := g.reconcile(); err != nil {
		t.Error(err)
	}
	g.want(theirs, portGuard)
	g.used[portGuard] = false
	if err := g.reconcile(); err != nil {
		t.Error(err)
	}
	g.want(theirs)
}

// TestFinalizersUnknown: if InUse fails, Reconcile removes no finalizer and returns the error,
// so that the queue tries again.
func TestFinalizersUnknown(t *testing.T) {
	g := newGuarding(t)
	g.held(subnetGuard)
	g.used[subnetGuard], g.fails = false, errors.New("the list failed")
	if err := g.reconcile(); !errors.Is(err, g.fails) {
		t.Errorf("error is %v", err)
	}
	g.want(subnetGuard)
	g.fails = nil
	if err := g.reconcile(); err != nil {
		t.Error(err)
	}
	g.want()
}

// TestFinalizersTooLate: an object that is being deleted gets no new finalizer, and keeps an
// existing one while in use.
func TestFinalizersTooLate(t *testing.T) {
	g := newGuarding(t)
	g.held(subnetGuard)
	g.cached = g.read()
	if err := g.client.Delete(t.Context(), g.object); err != nil {
		t.Fatal(err)
	}
	if held, err := g.Hold(t.Context(), g.cached, portGuard); held || err != nil {
		t.Errorf("what a late cache does not show to be deleted: held %t, error %v", held, err)
	}
	g.cached = nil
	if g.held(portGuard) {
		t.Error("what is being deleted is held")
	}
	if !g.held(subnetGuard) {
		t.Error("what holds it is lost")
	}
	g.want(subnetGuard)
}

// TestFinalizersRefused: if a webhook refuses a finalizer, Hold returns the error.
func TestFinalizersRefused(t *testing.T) {
	g := newGuarding(t)
	allow := testenv.Refuse(t, g.object.Namespace, corev1.SchemeGroupVersion.WithResource("configmaps"),
		"!has(object.metadata.finalizers)", "no finalizers here")
	testenv.Eventually(t, func() error {
		probe := g.read()
		probe.Finalizers = []string{theirs}
		if err := g.client.Update(t.Context(), probe, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("finalizers are not refused yet: %w", err)
		}
		return nil
	})
	held, err := g.Hold(t.Context(), g.read(), subnetGuard)
	if held || err == nil || !strings.Contains(err.Error(), "no finalizers here") {
		t.Errorf("held %t, error %v", held, err)
	}
	allow()
	testenv.Eventually(t, func() error {
		_, err := g.Hold(t.Context(), g.read(), subnetGuard)
		return err
	})
	g.want(subnetGuard)
}

// TestFinalizersOfAnother: a new object of the same name is not held.
func TestFinalizersOfAnother(t *testing.T) {
	g := newGuarding(t)
	meant := g.read()
	meant.UID = "another"
	held, err := g.Hold(t.Context(), meant, subnetGuard)
	if held || err != nil {
		t.Errorf("held %v, %v", held, err)
	}
	g.want()
}

// TestFinalizersConflict: a Conflict that is not about metadata.uid has the finalizer written again.
func TestFinalizersConflict(t *testing.T) {
	g := newGuarding(t)
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "configmaps"}, "net", errors.New("modified"))
	g.refused = conflict
	if held, err := g.Hold(t.Context(), g.read(), subnetGuard); held || !apierrors.IsConflict(err) {
		t.Errorf("held %t, error %v, want Conflict", held, err)
	}
	g.held(subnetGuard)
	g.used[subnetGuard], g.refused = false, conflict
	result, err := g.Reconcile(t.Context(), object.Of(g.object, configMap))
	if err != nil || result.RequeueAfter != reconcile.ConflictRetry {
		t.Errorf("again after %s, error %v, want %s", result.RequeueAfter, err, reconcile.ConflictRetry)
	}
	if err := g.reconcile(); err != nil {
		t.Fatal(err)
	}
	g.want()
}

// TestFinalizersOfManifests: a finalizer that a manifest put there too is taken off
// all the same.
func TestFinalizersOfManifests(t *testing.T) {
	g := newGuarding(t, subnetGuard, theirs)
	g.held(subnetGuard)
	g.used[subnetGuard] = false
	if err := g.reconcile(); err != nil {
		t.Error(err)
	}
	g.want(theirs)
}

// TestFinalizersReadBefore: an object that the caller read before it got the mutex is not used
// once the cache shows newer writes.
func TestFinalizersReadBefore(t *testing.T) {
	g := newGuarding(t)
	hold := func(read metav1.Object) {
		t.Helper()
		if held, err := g.Hold(t.Context(), read, subnetGuard); !held || err != nil {
			t.Errorf("held %t, error %v", held, err)
		}
	}
	before := g.read()
	hold(before)
	held := g.read()
	hold(held) // The newer version in the cache drops the own write.
	hold(before)
	if g.writes != 1 {
		t.Errorf("%d writes of one finalizer", g.writes)
	}

	if err := g.reconcile(); err != nil { // No object uses it.
		t.Error(err)
	}
	g.want()
	g.held(portGuard)
	g.held(portGuard) // The newer version in the cache drops the own write.
	hold(held)
	g.want(subnetGuard, portGuard)
}

// TestFinalizersReleasedOnce: while the cache does not show the removal of a finalizer, the
// finalizer is not removed again.
func TestFinalizersReleasedOnce(t *testing.T) {
	g := newGuarding(t)
	g.held(subnetGuard)
	g.used[subnetGuard], g.cached = false, g.read()
	before := g.writes
	for range 2 {
		if err := g.reconcile(); err != nil {
			t.Error(err)
		}
	}
	if n := g.writes - before; n != 1 {
		t.Errorf("taken off by %d writes", n)
	}
	g.want()
	g.cached = nil
	g.held(subnetGuard)
	g.want(subnetGuard)
}
