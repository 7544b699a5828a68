package oam_test

import (
	"fmt"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kinship-dev/kinship/test/operator"
)

// testDeletion deletes an application with children and a scope in each of the three ways. Its objects go
// with the application, or stay without an owner; the workload leaves the scope in any case.
func testDeletion(t *testing.T) {
	eachWay(t, func(w *world, how metav1.DeletionPropagation) {
		w.write(healthScope)
		w.write(webComponent)
		w.write(webApplication + scopes)
		w.get("Deployment", "example", field(3, "spec", "replicas"))
		app := w.get("ApplicationConfiguration", "app", synced(""))
		w.get("HealthScope", "health", members(1))
		w.collected()
		if err := w.C.Delete(w.T.Context(), app, client.PropagationPolicy(how)); err != nil {
			w.T.Fatal(err)
		}
		w.gone("ApplicationConfiguration", "app")
		w.get("HealthScope", "health", members(0))
		if how == metav1.DeletePropagationOrphan {
			for kind, name := range map[string]string{"ContainerizedWorkload": "example", "ManualScalerTrait": "scaler"} {
				if owners := w.get(kind, name, nil).GetOwnerReferences(); len(owners) > 0 {
					w.T.Errorf("owners of the %s are %v", kind, owners)
				}
			}
			// The workload and the trait still do their work.
			w.change("Deployment", "example", int64(1), "spec", "replicas")
			w.get("Deployment", "example", field(3, "spec", "replicas"))
			return
		}
		for kind, name := range map[string]string{
			"ContainerizedWorkload": "example", "ManualScalerTrait": "scaler", "Deployment": "example", "Service": "example",
			"ConfigMap": "example-wordpress-3972676475",
		} {
			w.gone(kind, name)
		}
	})
}

// testDeletedComponent deletes a Component, and a revision of a Component, in each of the three ways. The garbage
// collector then writes finalizers and owner references of revisions, which nobody else may write.
func testDeletedComponent(t *testing.T) {
	eachWay(t, func(w *world, how metav1.DeletionPropagation) {
		w.write(bare("db", 1))
		db := w.get("Component", "db", field("db-v1", "status", "latestRevision", "name"))
		w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
		w.get("Component", "db", field("db-v2", "status", "latestRevision", "name"))
		w.collected()
		first := w.get("ControllerRevision", "db-v1", nil)
		if err := w.C.Delete(w.T.Context(), first, client.PropagationPolicy(how)); err != nil {
			w.T.Fatal(err)
		}
		w.gone("ControllerRevision", "db-v1")
		if err := w.C.Delete(w.T.Context(), db, client.PropagationPolicy(how)); err != nil {
			w.T.Fatal(err)
		}
		w.gone("Component", "db")
		if how != metav1.DeletePropagationOrphan {
			w.gone("ControllerRevision", "db-v2")
			return
		}
		if owners := w.get("ControllerRevision", "db-v2", nil).GetOwnerReferences(); len(owners) > 0 {
			w.T.Errorf("owners of the revision are %v", owners)
		}
		// Another Component of the name does not take the revision over.
		w.write(bare("db", 3))
		w.get("Component", "db", field("db-v1", "status", "latestRevision", "name"))
		w.change("Component", "db", int64(4), "spec", "workload", "spec", "key")
		w.get("Component", "db", field("db-v3", "status", "latestRevision", "name"))
	})
}

// eachWay calls a test for each way to delete an object.
func eachWay(t *testing.T, test func(*world, metav1.DeletionPropagation)) {
	t.Helper()
	for _, how := range []metav1.DeletionPropagation{
		metav1.DeletePropagationForeground, metav1.DeletePropagationBackground, metav1.DeletePropagationOrphan,
	} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			test(newWorld(t), how)
		})
	}
}

// collected waits until the garbage collector knows the workloads, traits and revisions that exist now. The garbage
// collector takes the owner only from objects that it knows, and deletes the others after their owner is gone.
func (w *world) collected() {
	w.T.Helper()
	const orphan = `
apiVersion: %s
kind: %s
metadata: {name: marker, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: none, uid: none}]}
%s`
	for kind, spec := range map[string]string{
		"ContainerizedWorkload": "spec: {containers: [{name: a, image: a}]}",
		"ManualScalerTrait":     "spec: {replicaCount: 1, workloadRef: {apiVersion: v1, kind: Pod, name: none}}",
		"ControllerRevision":    "revision: 1\ndata: {}",
	} {
		w.write(fmt.Sprintf(orphan, w.blank(kind, "").GetAPIVersion(), kind, spec))
		w.gone(kind, "marker")
	}
}

// testNamedRevision is R1: an application that names revisions has one workload for each that it named,
// which no pass writes again, and its trait is changed in place.
func testNamedRevision(t *testing.T) {
	w := newWorld(t)
	apply := func(revision, key string) {
		w.write(application("app", "revisionName: "+revision) + fmt.Sprintf(`
      traits: [{trait: {name: bartraits.example.com, properties: {key: %s}}}]`, key))
	}
	w.write(bare("db", 1))
	w.get("ControllerRevision", "db-v1", nil)
	apply("db-v1", "a")
	first := w.get("Bar", "db-v1", field(1, "spec", "key"))
	app := w.get("ApplicationConfiguration", "app", synced(""))
	trait := traitOf(t, app)
	uid := w.get("BarTrait", trait, field("a", "spec", "key")).GetUID()
	w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	w.get("ControllerRevision", "db-v2", nil)
	apply("db-v2", "b")
	w.get("Bar", "db-v2", field(2, "spec", "key"))
	now := w.get("BarTrait", trait, field("b", "spec", "key"))
	if now.GetUID() != uid || now.GetLabels()["trait.oam.dev/type"] != "bartraits.example.com" {
		t.Errorf("the trait is %v", now)
	}
	w.get("ApplicationConfiguration", "app", synced(""))
	if got := w.get("Bar", "db-v1", nil).GetGeneration(); got != first.GetGeneration() {
		t.Errorf("the workload of the first revision has generation %d", got)
	}
}

// testChangedTrait is U1, and E1: a removed label and a removed field of a trait go, others stay, and new
// ones come. An application without scopes has no finalizer.
func testChangedTrait(t *testing.T) {
	w := newWorld(t)
	apply := func(trait string) {
		w.write(application("app", "componentName: db") + `
      traits: [{trait: {apiVersion: example.com/v1, kind: BarTrait, ` + trait + `}}]`)
	}
	w.write(bare("db", 1))
	apply("metadata: {name: trait, labels: {kept: a, gone: b}}, spec: {kept: 1, gone: {deep: 2}}")
	w.get("BarTrait", "trait", field(2, "spec", "gone", "deep"))
	w.change("BarTrait", "trait", "yes", "metadata", "labels", "foreign")
	apply("metadata: {name: trait, labels: {kept: a, new: c}}, spec: {kept: 1, new: 3}")
	now := w.get("BarTrait", "trait", field(3, "spec", "new"))
	for _, err := range []error{
		field(1, "spec", "kept")(now), field(nil, "spec", "gone")(now), field("a", "metadata", "labels", "kept")(now),
		field(nil, "metadata", "labels", "gone")(now), field("c", "metadata", "labels", "new")(now),
		field("yes", "metadata", "labels", "foreign")(now),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	app := w.get("ApplicationConfiguration", "app", synced(""))
	if got := app.GetFinalizers(); len(got) > 0 {
		t.Errorf("finalizers are %v", got)
	}
}

// traitOf returns the name of the first trait in the status of an application.
func traitOf(t *testing.T, app *unstructured.Unstructured) string {
	t.Helper()
	workloads, _, _ := unstructured.NestedSlice(app.Object, "status", "workloads")
	for _, w := range workloads {
		traits, _, _ := unstructured.NestedSlice(w.(map[string]any), "traits")
		if len(traits) > 0 {
			name, _, _ := unstructured.NestedString(traits[0].(map[string]any), "traitRef", "name")
			return name
		}
	}
	t.Fatalf("no trait in %v", workloads)
	return ""
}

// TestInvalidComponent: a Component that was written while the webhooks were off, and that they would refuse, can be
// changed in its metadata, and deleted in each way.
func TestInvalidComponent(t *testing.T) {
	first := operator.Start(t, testKinds)
	define(t)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.Delete(&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kinship-oam"}})
	w.Delete(&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "kinship-oam"}})
	for _, name := range []string{"foreground", "orphan"} {
		w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: ` + name + `}
spec:
  workload: {apiVersion: example.com/v1, kind: Bar}
  parameters: [{name: a, fieldPaths: [metadata.namespace]}]`)
	}
	operator.Start(t, testKinds)
	for name, how := range map[string]metav1.DeletionPropagation{
		"foreground": metav1.DeletePropagationForeground, "orphan": metav1.DeletePropagationOrphan,
	} {
		w.change("Component", name, "yes", "metadata", "labels", "mended")
		if err := w.C.Delete(t.Context(), w.get("Component", name, nil), client.PropagationPolicy(how)); err != nil {
			t.Fatal(err)
		}
		w.gone("Component", name)
	}
}

// testForeignFinalizers: finalizers of others stay on an application, its Component, its workload and its scope, whatever
// the operator writes, and hold them after their deletion.
func testForeignFinalizers(t *testing.T) {
	const foreign = "example.com/foreign"
	w := newWorld(t)
	w.write(healthScope)
	w.write(bare("db", 1))
	w.write(application("app", "componentName: db") + scopes)
	w.get("HealthScope", "health", members(1))
	marked := map[string]string{"ApplicationConfiguration": "app", "Component": "db", "Bar": "db", "HealthScope": "health"}
	for kind, name := range marked {
		u := w.blank(kind, name)
		w.Update(u, func() { controllerutil.AddFinalizer(u, foreign) })
	}
	w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	w.get("Bar", "db", field(2, "spec", "key"))
	for _, kind := range []string{"ApplicationConfiguration", "Component", "HealthScope", "Bar"} {
		w.Delete(w.blank(kind, marked[kind]))
	}
	for kind, name := range marked {
		u := w.get(kind, name, func(u *unstructured.Unstructured) error {
			if got := u.GetFinalizers(); len(got) != 1 || got[0] != foreign || u.GetDeletionTimestamp() == nil {
				return fmt.Errorf("finalizers of %s are %v", kind, got)
			}
			return nil
		})
		w.Update(u, func() { controllerutil.RemoveFinalizer(u, foreign) })
		w.gone(kind, name)
	}
}
