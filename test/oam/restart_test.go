package oam_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestRestart: objects that were deleted or edited while no operator ran are as before after its start,
// and what did not change is not written.
func TestRestart(t *testing.T) {
	first := operator.Start(t, testKinds)
	define(t)
	w := newWorld(t)
	w.write(webComponent)
	w.write(webApplication)
	w.write(bare("quiet", 1))
	w.write(bare("edited", 1))
	w.write(application("others", "componentName: quiet\n    - componentName: edited"))
	w.get("Deployment", "example", field(3, "spec", "replicas"))
	w.get("ApplicationConfiguration", "app", synced(""))
	unchanged := []*unstructured.Unstructured{
		w.get("ApplicationConfiguration", "others", synced("")), w.get("Bar", "quiet", nil),
		w.get("Component", "quiet", nil),
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	d := w.get("Deployment", "example", nil)
	w.Delete(d)
	w.Gone(d)
	w.change("Bar", "edited", int64(7), "spec", "key")
	operator.Start(t, testKinds)
	w.get("Deployment", "example", field(3, "spec", "replicas"))
	w.get("Bar", "edited", field(1, "spec", "key"))
	w.get("ManualScalerTrait", "scaler", synced(""))
	for _, before := range unchanged {
		now := w.get(before.GetKind(), before.GetName(), nil)
		if now.GetResourceVersion() != before.GetResourceVersion() {
			t.Errorf("%s %s was written", now.GetKind(), now.GetName())
		}
	}
}

// TestApplyOnce is O1: with --oam-apply-once-only, what others change in a workload and in a trait stays
// until the application changes. An operator without the flag restores the trait; the field of the workload is left to
// others, because the workload has a trait.
func TestApplyOnce(t *testing.T) {
	first := operator.Start(t, testKinds, func(o *options.Options) { o.Oam.ApplyOnce = true })
	define(t)
	w := newWorld(t)
	w.write(bare("db", 1))
	w.write(application("app", "componentName: db") + `
      traits: [{trait: {apiVersion: example.com/v1, kind: BarTrait, metadata: {name: trait}, spec: {key: a}}}]`)
	w.get("ApplicationConfiguration", "app", synced(""))
	w.change("Bar", "db-v1", int64(7), "spec", "key")
	w.change("BarTrait", "trait", "b", "spec", "key")
	w.write(bare("later", 1)) // A pass over this application comes after those that the changes would wake.
	w.write(application("later", "componentName: later"))
	w.get("ApplicationConfiguration", "later", synced(""))
	w.get("Bar", "db-v1", field(7, "spec", "key"))
	w.get("BarTrait", "trait", field("b", "spec", "key"))
	w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	w.get("Bar", "db-v2", field(2, "spec", "key"))
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	w.change("BarTrait", "trait", "c", "spec", "key")
	w.change("Bar", "db-v2", int64(7), "spec", "key")
	operator.Start(t, testKinds)
	w.get("BarTrait", "trait", field("a", "spec", "key"))
	w.get("ApplicationConfiguration", "app", leaves("Bar/db-v2: spec.key is left to field manager oam.test"))
	w.get("Bar", "db-v2", field(7, "spec", "key"))
}

// TestKilled kills the operator while applications are created, changed and deleted: in the end there
// is what their specs ask for, and nothing else.
func TestKilled(t *testing.T) {
	args := []string{"--packs", "oam", "--oam-kinds", "bars.example.com,bartraits.example.com"}
	process := operator.Exec(t, args...)
	define(t)
	w := newWorld(t)
	kill := func() {
		t.Helper()
		process.Kill()
		process = operator.Exec(t, args...)
	}
	const n = 4
	for i := range n {
		w.write(bare(fmt.Sprint("db", i), 1))
		w.write(application(fmt.Sprint("app", i), fmt.Sprint("componentName: db", i)) + trait + scopes)
		if i == 0 {
			w.write(healthScope)
		}
		kill()
	}
	for i := range n {
		w.get("Bar", fmt.Sprintf("db%d-v1", i), field(1, "spec", "key"))
		w.change("Component", fmt.Sprint("db", i), int64(2), "spec", "workload", "spec", "key")
		kill()
	}
	for i := range n {
		w.get("Bar", fmt.Sprintf("db%d-v2", i), field(2, "spec", "key"))
		w.get("ApplicationConfiguration", fmt.Sprint("app", i), synced(""))
	}
	w.Delete(w.blank("ApplicationConfiguration", "app0"))
	kill()
	w.gone("ApplicationConfiguration", "app0")
	w.get("HealthScope", "health", members(n-1))
	w.holds("Bar", 2*(n-1)) // A workload for each revision.
	w.holds("BarTrait", n-1)
	w.holds("ControllerRevision", 2*n)
}

const (
	// trait has no name of its own, so that each application has one.
	trait = `
      traits: [{trait: {apiVersion: example.com/v1, kind: BarTrait, spec: {}}}]`
	scopes = `
      scopes: [{scopeRef: {apiVersion: core.oam.dev/v1alpha2, kind: HealthScope, name: health}}]`
	healthScope = `
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata: {name: health}
spec: {workloadRefs: []}`
)

// members is a condition that a scope has a number of workloads.
func members(want int) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		refs, _, _ := unstructured.NestedSlice(u.Object, "spec", "workloadRefs")
		if len(refs) != want {
			return fmt.Errorf("%d workloads, want %d", len(refs), want)
		}
		return nil
	}
}

// holds waits until the namespace has a number of objects of a kind.
func (w *world) holds(kind string, want int) {
	w.T.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(w.blank(kind, "").GroupVersionKind())
	testenv.Eventually(w.T, func() error {
		if err := w.C.List(w.T.Context(), list, client.InNamespace(w.NS)); err != nil {
			return err
		}
		if len(list.Items) != want {
			return fmt.Errorf("%d objects of kind %s, want %d", len(list.Items), kind, want)
		}
		return nil
	})
}
