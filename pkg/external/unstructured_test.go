package external

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

const toyDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.toys.example.org}
spec:
  group: toys.example.org
  names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
`

// toyGroup is the group and version of the test's kinds. The kinds have no Go type, and are in no scheme.
var toyGroup = schema.GroupVersion{Group: "toys.example.org", Version: "v1"}

// TestUnstructuredCompares: equality.Semantic.DeepEqual accepts an [Unstructured] and its copy, so that a
// pass without changes writes no status.
func TestUnstructuredCompares(t *testing.T) {
	u := NewUnstructured(toyGroup.WithKind("Wagon"))
	if !equality.Semantic.DeepEqual(u, u.DeepCopyObject()) {
		t.Error("a copy differs")
	}
}

// toyKind returns the [Kind] of a kind without a Go type. A Wagon names its Engine in spec.engineRef.
func toyKind(name, address string) Kind[*Unstructured, string] {
	gvk := toyGroup.WithKind(name)
	k := Kind[*Unstructured, string]{
		GVK: gvk, New: func() *Unstructured { return NewUnstructured(gvk) },
		Connect: func(context.Context, Input[*Unstructured]) (Access[*Unstructured, string], error) {
			return Access[*Unstructured, string]{Actuator: toy[*Unstructured]{address, true}, Scope: name}, nil
		},
		Address:  toyAddress[*Unstructured],
		Identify: func(id string) Identity { return Identity{ID: id} },
		Name:     func(u *Unstructured) string { return u.GetName() },
		Differs:  func(Input[*Unstructured], string) []string { return nil },
		Observe: func(u *Unstructured, id string) reconcile.Outcome {
			return reconcile.Fail("NoStatus", unstructured.SetNestedField(u.Object, "thing "+id, "status", "resource"))
		},
	}
	if name == "Wagon" {
		r := relation.Reference{
			Name: "wagon-engine", Role: relation.Dependency, Doc: "A Wagon waits for its Engine.", Declarer: gvk.GroupKind(),
			Path: relation.MustPath("spec.engineRef"), Target: toyGroup.WithKind("Engine").GroupKind(),
			Finalizer: "toys.example.org/wagon",
		}
		k.Relations = []relation.Relation{r.Relation()}
	}
	return k
}

// train is an operator with two kinds without Go types.
type train struct {
	t     *testing.T
	c     client.Client
	ns    string
	cloud *toyCloud
	url   string
	// health has the reports of the running operator's watches.
	health *watch.Health
}

func newTrain(t *testing.T) *train {
	t.Helper()
	testenv.Apply(t, fmt.Sprintf(toyDefinition, "engine", "Engine")+fmt.Sprintf(toyDefinition, "wagon", "Wagon"))
	cloud := &toyCloud{things: map[string]*thing{}, running: map[string]*operation{}}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return &train{t: t, c: testenv.Client(t, nil), ns: testenv.Namespace(t), cloud: cloud, url: server.URL}
}

// run runs an operator until the returned function is called.
func (w *train) run() (stop func()) {
	w.t.Helper()
	w.health = &watch.Health{}
	factory := &watch.Factory{Scheme: runtime.NewScheme(), Health: w.health}
	mgr, err := ctrl.NewManager(testenv.Config(w.t), ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{NewInformer: factory.New},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	w.must(err)
	e := New(mgr, Options{Group: "toys.example.org", Noun: "thing", Cloud: "the toy cloud", Live: w.c})
	Add(e, toyKind("Engine", w.url))
	Add(e, toyKind("Wagon", w.url))
	ctx, cancel := context.WithCancel(w.t.Context())
	w.must(e.Start(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		w.must(<-ended)
	}
}

func (w *train) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *train) apply(kind, name, spec string) {
	w.t.Helper()
	testenv.Apply(w.t, fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {name: %s}\nspec: %s",
		toyGroup, kind, name, spec), testenv.In(w.ns))
}

func (w *train) get(kind, name string) (*Unstructured, error) {
	u := NewUnstructured(toyGroup.WithKind(kind))
	return u, w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, u)
}

// available waits until an object has Available=True.
func (w *train) available(kind, name string) *Unstructured {
	w.t.Helper()
	var last *Unstructured
	testenv.Eventually(w.t, func() error {
		u, err := w.get(kind, name)
		if err != nil {
			return err
		}
		if last = u; !meta.IsStatusConditionTrue(u.GetExternalStatus().Conditions, "Available") {
			return fmt.Errorf("%s %s: %+v", kind, name, u.GetExternalStatus().Conditions)
		}
		return nil
	})
	return last
}

// progressing waits until the condition Progressing of an object has a message.
func (w *train) progressing(kind, name, want string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u, err := w.get(kind, name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(u.GetExternalStatus().Conditions, "Progressing")
		if c == nil || c.Message != want {
			return fmt.Errorf("%s %s: %+v, want %q", kind, name, c, want)
		}
		return nil
	})
}

func (w *train) delete(kind, name string) {
	w.t.Helper()
	u, err := w.get(kind, name)
	w.must(errors.Join(err, w.c.Delete(w.t.Context(), u)))
}

func (w *train) gone(kind, name string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u, err := w.get(kind, name)
		if err == nil {
			return fmt.Errorf("%s %s is there: %v %+v", kind, name, u.GetFinalizers(), u.GetExternalStatus().Conditions)
		}
		return client.IgnoreNotFound(err)
	})
}

// TestUnstructured: objects of kinds without Go types wait for their references, guard their targets, have
// resources, and are deleted in order, also after a restart. An object with an unreadable status stops no
// other object.
func TestUnstructured(t *testing.T) {
	w := newTrain(t)
	stop := w.run()
	w.apply("Wagon", "dining", "{engineRef: steam, seats: 40}")
	w.progressing("Wagon", "dining", "Waiting for Engine/steam to be created")
	w.apply("Engine", "odd", "{}")
	odd := w.available("Engine", "odd")
	merge := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"lastSyncTime":"2030-01-01t00:00:00z"}}`))
	plain := &unstructured.Unstructured{}
	plain.SetGroupVersionKind(odd.GroupVersionKind())
	plain.SetNamespace(w.ns)
	plain.SetName("odd")
	w.must(w.c.Status().Patch(t.Context(), plain, merge))
	stop()

	defer w.run()()
	w.apply("Engine", "steam", "{power: 9}")
	w.available("Engine", "steam")
	dining := w.available("Wagon", "dining")
	if n := w.health.Unreadable(odd.GroupVersionKind().GroupKind()); n != 1 {
		t.Errorf("%d Engines are unreadable, want 1", n)
	}
	if id := idOf(dining); id != "blue-dining" {
		t.Errorf("status.id of the Wagon is %q", id)
	}
	observed := []sharedv1alpha1.ObservedDependency{{
		Group: odd.GroupVersionKind().Group, Kind: "Engine", Name: "steam", ID: "blue-steam",
	}}
	if diff := cmp.Diff(observed, dining.GetExternalStatus().ObservedDependencies); diff != "" {
		t.Errorf("status.observedDependencies (-want +got):\n%s", diff)
	}
	if got, _, _ := unstructured.NestedString(dining.Object, "status", "resource"); got != "thing blue-dining" {
		t.Errorf("status.resource of the Wagon is %q", got)
	}
	if seats, _, _ := unstructured.NestedInt64(dining.Object, "spec", "seats"); seats != 40 {
		t.Errorf("spec.seats of the Wagon is %d", seats)
	}
	w.delete("Engine", "steam")
	w.progressing("Engine", "steam", "Waiting for Wagon/dining to be deleted: it holds finalizer toys.example.org/wagon")
	w.delete("Wagon", "dining")
	w.gone("Wagon", "dining")
	w.gone("Engine", "steam")
	w.cloud.change(func(c *toyCloud) {
		if len(c.things) != 1 || c.things["blue-odd"] == nil {
			t.Errorf("things left in the cloud: %v", c.things)
		}
		var puts []string
		for _, call := range c.calls {
			if call[:3] == "PUT" {
				puts = append(puts, call)
			}
		}
		slices.Sort(puts)
		want := []string{"PUT /things/blue-dining", "PUT /things/blue-odd", "PUT /things/blue-steam"}
		if diff := cmp.Diff(want, puts); diff != "" {
			t.Errorf("creations (-want +got):\n%s", diff)
		}
	})
}

// TestShareNames: the names of the fields of two objects share memory.
func TestShareNames(t *testing.T) {
	var addresses [2]*byte
	for i := range addresses {
		u := &Unstructured{}
		if err := u.UnmarshalJSON([]byte(`{"kind":"Wagon","spec":{"doors":[{"colour":1}]}}`)); err != nil {
			t.Fatal(err)
		}
		u.ShareNames()
		doors, _, _ := unstructured.NestedFieldNoCopy(u.Object, "spec", "doors")
		for name := range doors.([]any)[0].(map[string]any) {
			addresses[i] = unsafe.StringData(name)
		}
	}
	if addresses[0] != addresses[1] {
		t.Error("the name colour is in memory twice")
	}
}

// TestUnstructuredContent: an object keeps each field when it is read and written. A field of status that
// the engine removes is removed from the JSON.
func TestUnstructuredContent(t *testing.T) {
	content := map[string]any{
		"apiVersion": "toys.example.org/v1", "kind": "Wagon", "metadata": map[string]any{"name": "w"},
		"spec":   map[string]any{"resyncPeriod": "10m", "seats": int64(3), "import": map[string]any{"id": "x"}},
		"status": map[string]any{"id": "x", "place": "p", "resource": map[string]any{"colour": "red"}},
	}
	adapted, err := (&Unstructured{}).Adapt(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	u := adapted.(*Unstructured)
	if period := u.GetExternalSpec().ResyncPeriod; period == nil || period.Duration != 10*time.Minute {
		t.Errorf("resyncPeriod: %v", period)
	}
	if id, asked := u.GetImport(); id != "x" || !asked {
		t.Errorf("import: %q, %t", id, asked)
	}
	if diff := cmp.Diff(map[string]any{"resource": map[string]any{"colour": "red"}}, u.Object["status"]); diff != "" {
		t.Errorf("content of status beside ExternalStatus (-want +got):\n%s", diff)
	}
	if content["status"].(map[string]any)["id"] != "x" {
		t.Error("the content of the caller was changed")
	}
	copied := u.DeepCopyObject().(*Unstructured)
	copied.GetExternalStatus().Place = ""
	copied.GetExternalStatus().Drift = []string{"colour"}
	patch, err := client.MergeFrom(u).Data(copied)
	if err != nil || string(patch) != `{"status":{"drift":["colour"],"place":null}}` {
		t.Errorf("patch %s, error %v", patch, err)
	}
	if diff := cmp.Diff("p", u.GetExternalStatus().Place); diff != "" {
		t.Errorf("the copy changed the original: %s", diff)
	}
	for _, text := range []string{`{"kind":"Wagon","spec":3}`, `{"kind":"Wagon","status":{"conditions":3}}`, `[]`} {
		if err := u.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is read without an error", text)
		}
	}
}
