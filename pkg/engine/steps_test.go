package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// The kinds of examples/library, which imports this package.
var (
	harbour           = schema.GroupVersion{Group: "harbour.example", Version: "v1"}
	ship, pier, fleet = harbour.WithKind("Ship"), harbour.WithKind("Pier"), harbour.WithKind("Fleet")
)

const shipGuard = "harbour.example/ship"

// docks is an engine without informers: a test puts the objects of the API server into the stores, and calls one step.
type docks struct {
	t      *testing.T
	c      client.Client
	ns     string
	e      *Engine
	stores map[string]toolscache.Store
	work   func(*Work) reconcile.Outcome // nil means done
	worked int
}

func newDocks(t *testing.T, change ...func(*Options)) *docks {
	t.Helper()
	d := &docks{t: t, c: testenv.Client(t, nil), ns: testenv.Namespace(t), stores: map[string]toolscache.Store{}}
	options := Options{Name: "docks.example", Live: d.c}
	for _, c := range change {
		c(&options)
	}
	d.e = New(nil, options)
	of := func(name, path string, role relation.Role, target schema.GroupVersionKind, guard string) relation.Relation {
		r := relation.Reference{
			Name: name, Role: role, Declarer: ship.GroupKind(), Path: relation.MustPath(path), Target: target.GroupKind(),
			Finalizer: guard,
		}
		return r.Relation()
	}
	for _, k := range []Kind{
		{GVK: fleet},
		{GVK: pier, Ready: IsReady},
		{
			GVK: ship, Work: d.step, Relations: []relation.Relation{
				of("dock-pier", "spec.pierRef", relation.Dependency, pier, shipGuard),
				of("dock-fleet", "spec.fleetRef", relation.Owner, fleet, ""),
			},
		},
	} {
		k.Store = newStore()
		d.stores[k.GVK.Kind] = k.Store
		d.e.Add(k)
	}
	d.e.makeGuards()
	t.Cleanup(func() { // The operator of TestToy watches all namespaces.
		u := &unstructured.Unstructured{}
		u.SetGroupVersionKind(ship)
		d.must(d.c.DeleteAllOf(context.WithoutCancel(t.Context()), u, client.InNamespace(d.ns)))
	})
	return d
}

// step is the Kind.Work of Ships.
func (d *docks) step(_ context.Context, w *Work) reconcile.Outcome {
	d.worked++
	if d.work == nil {
		return reconcile.Outcome{}
	}
	return d.work(w)
}

func (d *docks) id(kind, name string) object.ID {
	return object.ID{Group: harbour.Group, Kind: kind, Namespace: d.ns, Name: name}
}

// apply applies an object with fields of its spec, and puts the object into the store of its kind.
func (d *docks) apply(kind, name string, fields ...string) *unstructured.Unstructured {
	d.t.Helper()
	text := fmt.Sprintf("apiVersion: harbour.example/v1\nkind: %s\nmetadata: {name: %s}\n", kind, name)
	if len(fields) > 0 {
		text += "spec: {" + strings.Join(fields, ", ") + "}\n"
	}
	testenv.Apply(d.t, text, testenv.In(d.ns))
	return d.see(kind, name)
}

// see puts the present state of an object into the store of its kind, as a watch does.
func (d *docks) see(kind, name string) *unstructured.Unstructured {
	d.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(harbour.WithKind(kind))
	d.must(d.c.Get(d.t.Context(), client.ObjectKey{Namespace: d.ns, Name: name}, u))
	d.must(d.stores[kind].Add(u))
	return u.DeepCopy()
}

// merge changes an object on the API server, past the stores.
func (d *docks) merge(u *unstructured.Unstructured, patch string, subresource ...string) {
	d.t.Helper()
	raw := client.RawPatch(types.MergePatchType, []byte(patch))
	if len(subresource) > 0 {
		d.must(d.c.Status().Patch(d.t.Context(), u.DeepCopy(), raw))
		return
	}
	d.must(d.c.Patch(d.t.Context(), u.DeepCopy(), raw))
}

// serve makes a Pier ready.
func (d *docks) serve(name string) {
	d.t.Helper()
	d.merge(d.see("Pier", name), `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Built","message":"",
		"lastTransitionTime":"2026-11-24T00:00:00Z"}]}}`, "status")
	d.see("Pier", name)
}

func (d *docks) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// pass reconciles a Ship once, and returns the Ship with its condition Ready.
func (d *docks) pass(name string) (*unstructured.Unstructured, metav1.Condition, error) {
	d.t.Helper()
	_, err := d.e.member(ship.GroupKind()).Reconciler.Reconcile(d.t.Context(), d.id("Ship", name))
	u := d.see("Ship", name)
	conditions := conditionsOf(u)
	if len(conditions) != 1 {
		d.t.Fatalf("the conditions are %v", conditions)
	}
	return u, conditions[0], err
}

// TestWorkPass: the pass of a kind with Kind.Work resolves, guards, owns, works, and reports, in this order.
func TestWorkPass(t *testing.T) {
	d := newDocks(t)
	d.apply("Ship", "anna", "pierRef: north", "fleetRef: red")
	expect := func(reason string, worked int, message string) *unstructured.Unstructured {
		t.Helper()
		anna, ready, err := d.pass("anna")
		if err != nil || ready.Message != message || d.worked != worked {
			t.Errorf("%s: %q, want %q; Work was called %d times, want %d; %v",
				reason, ready.Message, message, d.worked, worked, err)
		}
		if isTrue := ready.Status == metav1.ConditionTrue; isTrue != (message == "All references are ready") {
			t.Errorf("%s: the condition is %s", reason, ready.Status)
		}
		return anna
	}
	expect("nothing exists", 0, "Waiting for Pier/north to be created; Waiting for Fleet/red to be created")
	red := d.apply("Fleet", "red")
	d.apply("Pier", "north")
	anna := expect("the Pier is not ready", 0, "Waiting for Pier/north to be ready")
	if f := d.see("Pier", "north").GetFinalizers(); len(f) > 0 || len(anna.GetOwnerReferences()) > 0 {
		t.Errorf("before all references are ready: finalizers %v, owners %v", f, anna.GetOwnerReferences())
	}
	d.serve("north")
	anna = expect("all is ready", 1, "All references are ready")
	if owner := metav1.GetControllerOf(anna); owner == nil || owner.UID != red.GetUID() {
		t.Errorf("the owner is %v, want Fleet red with uid %s", owner, red.GetUID())
	}
	if f := d.see("Pier", "north").GetFinalizers(); !slices.Equal(f, []string{shipGuard}) {
		t.Errorf("the finalizers of the Pier are %v", f)
	}
	again := expect("nothing has changed", 2, "All references are ready")
	if again.GetResourceVersion() != anna.GetResourceVersion() {
		t.Error("a pass that changes nothing wrote")
	}
}

// TestWorkResult: the outcome of Kind.Work is the condition Ready and the answer to the queue; the status fields
// that Work sets are written, and other fields are not.
func TestWorkResult(t *testing.T) {
	d := newDocks(t)
	d.apply("Ship", "anna")
	failure := errors.New("no wind")
	for name, c := range map[string]struct {
		outcome reconcile.Outcome
		status  metav1.ConditionStatus
		reason  string
		err     error
	}{
		"done":     {reconcile.Outcome{}, metav1.ConditionTrue, "Ready", nil},
		"waits":    {reconcile.Wait("NoTide", "waiting for the tide"), metav1.ConditionFalse, "NoTide", nil},
		"fails":    {reconcile.Fail("NoWind", failure), metav1.ConditionFalse, "NoWind", failure},
		"can't be": {reconcile.Refuse("Sunk", "no ship"), metav1.ConditionFalse, "Sunk", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d.work = func(w *Work) reconcile.Outcome {
				content := w.Object.(*unstructured.Unstructured).Object
				d.must(unstructured.SetNestedField(content, name, "status", "berth"))
				d.must(unstructured.SetNestedField(content, "changed", "spec", "lighthouseRef"))
				return c.outcome
			}
			anna, ready, err := d.pass("anna")
			if ready.Status != c.status || ready.Reason != c.reason || !errors.Is(err, c.err) {
				t.Errorf("%s, reason %s, error %v; want %s, %s, %v", ready.Status, ready.Reason, err, c.status, c.reason, c.err)
			}
			berth, _, _ := unstructured.NestedString(anna.Object, "status", "berth")
			if light, _, _ := unstructured.NestedString(anna.Object, "spec", "lighthouseRef"); berth != name || light != "" {
				t.Errorf("status.berth is %q, spec.lighthouseRef %q", berth, light)
			}
			if ready.ObservedGeneration != anna.GetGeneration() {
				t.Errorf("observedGeneration %d, want %d", ready.ObservedGeneration, anna.GetGeneration())
			}
		})
	}
}

// TestWorkEnding: an object that is being deleted gets no condition, and a pass over an object that is gone or was
// replaced is no failure.
func TestWorkEnding(t *testing.T) {
	d := newDocks(t)
	anna := d.apply("Ship", "anna")
	reconciler, id := d.e.member(ship.GroupKind()).Reconciler, d.id("Ship", "anna")
	d.merge(anna, `{"metadata":{"finalizers":["docks.example/stay"]}}`)
	d.must(d.c.Delete(t.Context(), anna))
	d.see("Ship", "anna")
	if _, err := reconciler.Reconcile(t.Context(), id); err != nil || d.worked != 0 {
		t.Errorf("Work was called %d times for an object that is being deleted; %v", d.worked, err)
	}
	if left := conditionsOf(d.see("Ship", "anna")); len(left) > 0 {
		t.Errorf("conditions of an object that is being deleted: %v", left)
	}
	d.merge(anna, `{"metadata":{"finalizers":null}}`)
	d.must(d.stores["Ship"].Add(anna)) // The cache still has the former Ship.
	if _, err := reconciler.Reconcile(t.Context(), id); err != nil || d.worked != 1 {
		t.Errorf("the object is gone, which the watch will tell: %v; Work was called %d times", err, d.worked)
	}
	d.apply("Ship", "anna", "pierRef: north")
	d.must(d.stores["Ship"].Add(anna))
	if _, err := reconciler.Reconcile(t.Context(), id); err != nil {
		t.Errorf("the object was replaced, which the watch will tell: %v", err)
	}
	d.see("Ship", "anna")
	if _, ready, err := d.pass("anna"); err != nil || ready.Message != "Waiting for Pier/north to be created" {
		t.Errorf("the Ship that replaced the former one: %q, %v", ready.Message, err)
	}
	d.must(d.stores["Ship"].Delete(anna))
	if result, err := reconciler.Reconcile(t.Context(), id); err != nil || !result.IsZero() {
		t.Errorf("the cache has no Ship: %v, %v", result, err)
	}
}

// TestStatusOfAnother: the API server ignores metadata.uid in a PATCH of the status of a custom resource. The writer
// finds in the answer that another object has the name.
func TestStatusOfAnother(t *testing.T) {
	d := newDocks(t)
	for _, brief := range []bool{false, true} {
		w := &reconcile.Writer{Client: d.c, FieldOwner: "docks.example", Writes: &reconcile.Writes{}, Brief: brief}
		former := d.apply("Ship", "anna")
		d.must(d.c.Delete(t.Context(), former))
		d.apply("Ship", "anna")
		after, id := former.DeepCopy(), d.id("Ship", "anna")
		d.must(unstructured.SetNestedField(after.Object, "b", "status", "berth"))
		wrote, err := w.Status(t.Context(), id, former, after, false)
		if wrote || !reconcile.IsSuperseded(err) || !reconcile.IsAnother(err) {
			t.Errorf("brief %t: wrote %t, %v", brief, wrote, err)
		}
		if w.Writes.Unseen(id, "1") {
			t.Errorf("brief %t: the write to another object is remembered as an own write", brief)
		}
		d.must(d.c.Delete(t.Context(), d.see("Ship", "anna")))
	}
}

// TestHold: a guard is put on targets that are ready, and one write is enough for many sources.
func TestHold(t *testing.T) {
	d := newDocks(t)
	d.apply("Ship", "anna", "pierRef: north")
	resolve := func() Refs {
		anna := d.e.Get(d.id("Ship", "anna"))
		return d.e.Resolve(ship.GroupKind(), anna, false)
	}
	hold := func(reason, want string, finalizers ...string) {
		t.Helper()
		if o := d.e.Hold(t.Context(), resolve()); o.Message() != want {
			t.Errorf("%s: %q, want %q", reason, o.Message(), want)
		}
		if want != "" {
			return
		}
		north := &unstructured.Unstructured{}
		north.SetGroupVersionKind(pier)
		err := d.c.Get(t.Context(), client.ObjectKey{Namespace: d.ns, Name: "north"}, north)
		if client.IgnoreNotFound(err) != nil || !slices.Equal(north.GetFinalizers(), finalizers) {
			t.Errorf("%s: finalizers %v, want %v; %v", reason, north.GetFinalizers(), finalizers, err)
		}
	}
	hold("there is no Pier", "")
	d.apply("Pier", "north")
	hold("the Pier is not ready", "")
	d.serve("north")
	hold("the Pier is ready", "", shipGuard)
	version := d.see("Pier", "north").GetResourceVersion()
	hold("the guard is there", "", shipGuard)
	if again := d.see("Pier", "north").GetResourceVersion(); again != version {
		t.Error("a guard that is there was written again")
	}
	north := d.see("Pier", "north")
	d.must(d.c.Delete(t.Context(), north))
	d.see("Pier", "north")
	hold("the Pier is being deleted, with the guard", "", shipGuard)
	d.merge(north, `{"metadata":{"finalizers":null}}`)
	d.must(d.stores["Pier"].Add(north))
	d.e.Observe(pier.GroupKind(), changeOf(nil, north))
	d.apply("Pier", "north")
	bare := north.DeepCopy()
	bare.SetFinalizers(nil)
	d.must(d.stores["Pier"].Add(bare)) // The cache has the former Pier, which is gone.
	hold("the Pier was replaced", "Waiting for Pier/north to be ready")
}

// TestOwn: the owner reference is written once, and what can't be owned is not written.
func TestOwn(t *testing.T) {
	d := newDocks(t, func(o *Options) { o.OwnerLabels = "docks.example" })
	red := d.apply("Fleet", "red")
	writer := &reconcile.Writer{Client: d.c, FieldOwner: "docks.example", Writes: &reconcile.Writes{}}
	own := func(name string) reconcile.Outcome {
		anna := d.see("Ship", name)
		return d.e.Own(t.Context(), writer, ship.GroupKind(), anna, d.e.Resolve(ship.GroupKind(), anna, false))
	}
	d.apply("Ship", "anna", "fleetRef: red")
	if o := own("anna"); !o.IsDone() {
		t.Fatal(o.Message())
	}
	anna := d.see("Ship", "anna")
	want := map[string]string{
		"docks.example/owner-name": "red", "docks.example/owner-kind": "Fleet",
		"docks.example/owner-uid": string(red.GetUID()),
	}
	if diff := cmp.Diff(want, anna.GetLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if !metav1.IsControlledBy(anna, red) {
		t.Errorf("owners %v", anna.GetOwnerReferences())
	}
	if o := own("anna"); !o.IsDone() || d.see("Ship", "anna").GetResourceVersion() != anna.GetResourceVersion() {
		t.Errorf("an object that has its owner was written; %q", o.Message())
	}
	d.merge(anna,
		`{"metadata":{"finalizers":["docks.example/stay"]}}`) // Otherwise the garbage collector deletes the Ship.
	d.must(d.c.Delete(t.Context(), red, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	testenv.Eventually(t, func() error { // The garbage collector takes the reference off before the Fleet goes.
		err := d.c.Get(t.Context(), client.ObjectKeyFromObject(red), red.DeepCopy())
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the Fleet exists: %w", err)
		}
		return nil
	})
	now := d.apply("Fleet", "red")
	d.merge(anna, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"harbour.example/v1","kind":"Fleet",
		"name":"red","uid":%q}]}}`, red.GetUID()))
	waits := fmt.Sprintf("Waiting to be deleted with the former Fleet/red: the present one has uid %s and does not own "+
		"this object", now.GetUID())
	if o := own("anna"); o.Message() != waits || o.Worst().State != reconcile.Waiting {
		t.Errorf("%s: %q, want %q", o.Worst().State, o.Message(), waits)
	}
	d.merge(anna, `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"other","uid":"u",
		"controller":true}]}}`)
	const taken = "Fleet/red can't own this object: other is its controller"
	if o := own("anna"); o.Message() != taken || o.Worst().Reason != "OwnerConflict" {
		t.Errorf("%s: %q, want %q", o.Worst().Reason, o.Message(), taken)
	}
	if owners := d.see("Ship", "anna").GetOwnerReferences(); len(owners) != 1 || owners[0].Name != "other" {
		t.Errorf("the owners were changed to %v", owners)
	}
	d.merge(anna, `{"metadata":{"finalizers":null}}`)
}

// TestInUseLive: what no watch has shown, a list of the API server shows, in the namespace of the target alone.
func TestInUseLive(t *testing.T) {
	d, other := newDocks(t), newDocks(t)
	d.apply("Pier", "north")
	target := d.id("Pier", "north")
	ask := func(want bool) {
		t.Helper()
		used, err := d.e.inUse(t.Context(), target, shipGuard)
		if err != nil || used != want {
			t.Errorf("in use %t, want %t; %v", used, want, err)
		}
	}
	anna := d.apply("Ship", "anna", "pierRef: north")
	d.apply("Ship", "berta", "pierRef: south")
	other.apply("Ship", "anna", "pierRef: north")
	ask(true) // No informer has told the engine of the Ship.
	d.must(d.c.Delete(t.Context(), anna))
	ask(false)
	d.e.options.Live = testenv.ClientFor(t, testenv.As(t, "nobody"), nil)
	ask(false) // The answer is remembered, and no request is sent.
	d.e.Observe(pier.GroupKind(), changeOf(d.see("Pier", "north"), nil))
	if _, err := d.e.inUse(t.Context(), target, shipGuard); err == nil {
		t.Error("the answer for a deleted Pier is remembered")
	}
}

// TestInUseUnserved: the objects of a kind that the API server does not serve refer to nothing, and a kind that the
// operator may not list may have such objects.
func TestInUseUnserved(t *testing.T) {
	d := newDocks(t)
	d.apply("Pier", "north")
	m := d.e.member(ship.GroupKind())
	m.GVK = harbour.WithKind("Submarine")
	if used, err := d.e.refersLive(t.Context(), m, d.id("Pier", "north"), shipGuard); used || err != nil {
		t.Errorf("a kind that is not served: %t, %v", used, err)
	}
	m.GVK = ship
	d.e.options.Live = testenv.ClientFor(t, testenv.As(t, "nobody"), nil)
	used, err := d.e.refersLive(t.Context(), m, d.id("Pier", "north"), shipGuard)
	if used || err == nil || !strings.HasPrefix(err.Error(), "list who refers to Pier/north: ") {
		t.Errorf("a kind that may not be listed: %t, %v", used, err)
	}
}
