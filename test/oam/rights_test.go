package oam_test

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/authorise"
)

func may(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

var (
	writes = []string{"get", "create", "update", "patch", "delete"}
	// oamRights are rights to applications and components, and to nothing else.
	oamRights = may("core.oam.dev", writes, "applicationconfigurations", "components")
)

// writeAs applies a YAML text as a user of [testenv.World.User].
func (w *world) writeAs(name, text string) {
	w.T.Helper()
	testenv.Apply(w.T, text, testenv.In(w.NS), testenv.With(testenv.As(w.T, w.NS+"-"+name)))
}

// testAuthors is W10: a user gets nothing by an application that he could not create himself, whatever
// the kind, and whoever wrote the other half.
func testAuthors(t *testing.T) {
	w := newWorld(t)
	w.User("poor", oamRights)
	w.User("rich", oamRights, may("example.com", writes, "bars"), may("apps", writes, "deployments"),
		may("", writes, "services", "configmaps"))
	for name, text := range map[string]string{
		"binding": `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, ` +
			`roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}}`,
		"secret": `{apiVersion: v1, kind: Secret, metadata: {namespace: kube-system}}`,
		"pod": `{apiVersion: v1, kind: Pod, ` +
			`spec: {containers: [{name: a, image: a, securityContext: {privileged: true}}]}}`,
		"bar": `{apiVersion: example.com/v1, kind: Bar}`,
		// The annotation of the embedded object is not the author's to write.
		"forged": `{apiVersion: core.oam.dev/v1alpha2, kind: ContainerizedWorkload, metadata: {annotations: {"` +
			authorise.AuthorsAnnotation + `": '[{"username":"admin","groups":["system:masters"]}]'}}, ` +
			`spec: {containers: [{name: a, image: a}]}}`,
	} {
		w.writeAs("poor", `
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: `+name+`}
spec: {workload: `+text+`}`)
		w.writeAs("poor", application(name, "componentName: "+name))
	}
	denied := "the author " + w.NS + "-poor may not create "
	w.get("ApplicationConfiguration", "binding", synced("ClusterRoleBinding is cluster-scoped"))
	w.get("ApplicationConfiguration", "secret", synced("secrets"))
	w.get("ApplicationConfiguration", "pod", synced("pods"))
	w.get("ApplicationConfiguration", "bar", synced(denied+"bars.example.com in namespace "+w.NS))
	w.get("ApplicationConfiguration", "forged", synced(denied+"containerizedworkloads.core.oam.dev"))
	// A component of somebody with the right does not help, nor does an application of his.
	w.writeAs("rich", bare("his", 1))
	w.writeAs("poor", application("borrowed", "componentName: his"))
	w.get("ApplicationConfiguration", "borrowed", synced(denied))
	w.writeAs("rich", application("lent", "componentName: bar"))
	w.get("ApplicationConfiguration", "lent", synced(denied))
	w.writeAs("rich", application("own", "componentName: his"))
	w.get("Bar", "his", nil)
}

// testAuthorsChange: who changes the spec, a label or an annotation becomes one more author, because
// labels and annotations go into the workload. A write that leaves all three changes no author, and an
// object stops being written when one author may not write it, until a user who may takes it over.
func testAuthorsChange(t *testing.T) {
	w := newWorld(t)
	poor := w.User("poor", oamRights)
	rich := w.User("rich", oamRights, may("example.com", writes, "bars"))
	w.writeAs("rich", bare("db", 1))
	w.writeAs("rich", application("app", "componentName: db"))
	w.get("Bar", "db", field(1, "spec", "key"))
	edit := func(c client.Client, kind, name string, change func(*unstructured.Unstructured)) {
		t.Helper()
		u := w.blank(kind, name)
		testenv.Eventually(t, func() error {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
				return err
			}
			change(u)
			return c.Update(t.Context(), u)
		})
	}
	edit(poor, "Component", "db", func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{authorise.AuthorsAnnotation: "[]"})
		u.SetFinalizers([]string{"example.com/noted"})
	})
	c := w.get("Component", "db", field("[example.com/noted]", "metadata", "finalizers"))
	if got := c.GetAnnotations()[authorise.AuthorsAnnotation]; !strings.Contains(got, w.NS+"-rich") {
		t.Errorf("authors are %s, want the one who wrote the spec", got)
	}
	edit(poor, "Component", "db", func(u *unstructured.Unstructured) {
		u.SetFinalizers(nil)
		u.SetAnnotations(map[string]string{"snippet": "mine"})
	})
	w.get("ApplicationConfiguration", "app", synced(w.NS+"-poor may not create bars.example.com"))
	if bar := w.get("Bar", "db", nil); bar.GetAnnotations()["snippet"] != "" {
		t.Error("an annotation of somebody without rights is on the workload")
	}
	edit(poor, "Component", "db", func(u *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(u.Object, int64(2), "spec", "workload", "spec", "key"); err != nil {
			t.Fatal(err)
		}
	})
	w.get("ApplicationConfiguration", "app", synced(w.NS+"-poor may not create bars.example.com"))
	w.get("Bar", "db", field(1, "spec", "key"))
	w.writeAs("rich", bare("db", 3)) // What the poor user annotated is still there.
	w.get("ApplicationConfiguration", "app", synced(w.NS+"-poor may not create bars.example.com"))
	edit(rich, "Component", "db", func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{authorise.TakeAnnotation: w.NS + "-rich"})
	})
	w.get("Bar", "db", field(3, "spec", "key"))
}

// testLaunderedAuthors: a tenant without rights writes what was refused, and an administrator, or a controller with all
// rights, then annotates and labels everything. Nothing is created: the tenant stays an author. The same for an object
// that the operator made from an application, and that the tenant changes.
func testLaunderedAuthors(t *testing.T) {
	w := newWorld(t)
	poor := w.User("poor", oamRights, may("core.oam.dev", writes, "containerizedworkloads"))
	w.writeAs("poor", bare("wish", 1))
	w.writeAs("poor", application("wish", "componentName: wish"))
	refused := w.NS + "-poor may not create bars.example.com"
	w.get("ApplicationConfiguration", "wish", synced(refused))
	for _, patch := range []string{
		`{"metadata":{"annotations":{"team":"a"}}}`, `{"metadata":{"labels":{"team":"a"}}}`,
		`{"spec":{"workload":{"spec":{"other":1}}}}`,
	} {
		u := w.blank("Component", "wish")
		if err := w.C.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	for _, patch := range []string{`{"metadata":{"annotations":{"team":"a"}}}`, `{"metadata":{"labels":{"team":"a"}}}`} {
		u := w.blank("ApplicationConfiguration", "wish")
		if err := w.C.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		w.get("ApplicationConfiguration", "wish", synced(refused))
	}
	bar := w.blank("Bar", "wish")
	if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(bar), bar); !apierrors.IsNotFound(err) {
		t.Errorf("the administrator's annotation has the workload created: %v", err)
	}
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: own}
spec: {workload: {apiVersion: core.oam.dev/v1alpha2, kind: ContainerizedWorkload, spec: {containers: [{name: a, image: a}]}}}`)
	w.write(application("own", "componentName: own"))
	made := w.get("ContainerizedWorkload", "own", nil)
	w.get("Deployment", "own", nil)
	patch := `{"metadata":{"annotations":{"snippet":"mine"}}}`
	if err := poor.Patch(t.Context(), made, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	w.get("ContainerizedWorkload", "own", func(u *unstructured.Unstructured) error {
		for _, a := range authorise.AuthorsOf(u) {
			if a.Username == w.NS+"-poor" {
				return nil
			}
		}
		return fmt.Errorf("the authors are %v", authorise.AuthorsOf(u))
	})
}

// testForgedStatus: other controllers may write parts of the status of an application, so that nothing in the
// status is believed. An application whose status names a workload of somebody else neither deletes the
// workload nor takes it out of its scope.
func testForgedStatus(t *testing.T) {
	w := newWorld(t)
	w.write(healthScope)
	w.write(bare("victim", 1))
	w.write(application("victim", "componentName: victim") + scopes)
	stays := w.get("Bar", "victim", nil)
	scoped := w.get("HealthScope", "health", members(1))
	w.get("ApplicationConfiguration", "victim", synced(""))
	w.write(bare("own", 1))
	w.write(application("forged", "componentName: own"))
	app := w.get("ApplicationConfiguration", "forged", synced(""))
	victim := map[string]any{"apiVersion": "example.com/v1", "kind": "Bar", "name": "victim"}
	scope := map[string]any{"apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "name": "health"}
	if err := unstructured.SetNestedSlice(app.Object, []any{map[string]any{
		"componentName": "own", "workloadRef": victim, "scopes": []any{map[string]any{"scopeRef": scope}},
	}}, "status", "workloads"); err != nil {
		t.Fatal(err)
	}
	app.SetFinalizers([]string{"scope.finalizer.core.oam.dev"})
	if err := w.C.Update(t.Context(), app.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	fresh := w.get("ApplicationConfiguration", "forged", nil)
	fresh.Object["status"] = app.Object["status"]
	if err := w.C.Status().Update(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
	w.Delete(fresh)
	w.gone("ApplicationConfiguration", "forged")
	w.get("Bar", "victim", field(stays.GetUID(), "metadata", "uid")) // Another would be the one restored.
	// The application of the victim would join the scope again.
	w.get("HealthScope", "health", field(scoped.GetGeneration(), "metadata", "generation"))
}

// testStoreRights: an author gets no content of an object that he may not read, through a store or as a
// data output of an object that is not his.
func testStoreRights(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {password: secret}
---
apiVersion: example.com/v1
kind: Bar
metadata: {name: theirs}
spec: {password: secret}`)
	w.User("poor", oamRights, may("example.com", []string{"create"}, "bars"))
	w.writeAs("poor", bare("sink", 1))
	w.writeAs("poor", application("store", `componentName: sink
      dataInputs:
        - inputStore:
            apiVersion: v1
            kind: Secret
            name: key
            operations: [{type: jsonPatch, op: add, toFieldPath: spec.stolen, valueFrom: {fieldPath: data.password}}]`))
	w.User("reader", oamRights, may("example.com", []string{"create", "get"}, "bars"))
	w.writeAs("reader", bare("theirs", 1))
	w.writeAs("reader", bare("thief", 1))
	source := `componentName: theirs
      dataOutputs: [{name: key, fieldPath: spec.password}]
    - componentName: thief
      dataInputs: [{valueFrom: {dataOutputName: key}, toFieldPaths: [spec.stolen]}]`
	w.writeAs("poor", application("source", source))
	w.writeAs("reader", application("others", source))
	w.get("ApplicationConfiguration", "store", synced(w.NS+"-poor may not get secrets"))
	w.get("ApplicationConfiguration", "others", unsatisfied("Bar theirs does not exist"))
	w.get("ApplicationConfiguration", "source", synced(w.NS+"-poor may not get bars.example.com"))
	w.missing("Bar", "sink")
	w.missing("Bar", "thief")
}

// testDirectTraits: a trait and a workload of the pack act in the name of their author as well, if no
// application made them.
func testDirectTraits(t *testing.T) {
	w := newWorld(t)
	w.write(webComponent)
	w.write(webApplication)
	w.write(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: plain}
spec:
  replicas: 1
  selector: {matchLabels: {a: b}}
  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}`)
	w.get("Deployment", "example", field(3, "spec", "replicas"))
	w.User("poor", may("core.oam.dev", writes, "manualscalertraits", "containerizedworkloads", "healthscopes"))
	w.writeAs("poor", `
apiVersion: core.oam.dev/v1alpha2
kind: ManualScalerTrait
metadata: {name: sabotage}
spec: {replicaCount: 0, workloadRef: {apiVersion: core.oam.dev/v1alpha2, kind: ContainerizedWorkload, name: example}}
---
apiVersion: core.oam.dev/v1alpha2
kind: ManualScalerTrait
metadata: {name: grab}
spec: {replicaCount: 0, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: plain}}
---
apiVersion: core.oam.dev/v1alpha2
kind: ContainerizedWorkload
metadata: {name: miner}
spec: {containers: [{name: a, image: a}]}
---
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata: {name: spy}
spec: {workloadRefs: [{apiVersion: v1, kind: Secret, name: key}]}
---
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata: {name: nosy}
spec: {workloadRefs: [{apiVersion: core.oam.dev/v1alpha2, kind: ContainerizedWorkload, name: example}]}`)
	w.get("ManualScalerTrait", "sabotage", synced("is scaled by ManualScalerTrait/scaler"))
	w.get("ManualScalerTrait", "grab", synced("poor may not patch deployments.apps"))
	// The author may get the workload, and not its Deployment.
	w.get("HealthScope", "nosy", synced("poor may not get deployments.apps"))
	w.get("Deployment", "plain", field(1, "spec", "replicas"))
	w.Delete(w.blank("ApplicationConfiguration", "app"))
	w.gone("ManualScalerTrait", "scaler")
	w.get("ContainerizedWorkload", "miner", synced("poor may not create deployments.apps"))
	w.get("HealthScope", "spy", synced("poor may not get secrets"))
}

// testHostilePaths is W9 and the 4-billion index: each bad path is a refusal or a condition, and other
// applications go on.
func testHostilePaths(t *testing.T) {
	w := newWorld(t)
	for name, path := range map[string]string{
		"owner": "metadata.ownerReferences[0].name", "namespace": "metadata.namespace", "kind": "kind",
		"authors": "metadata.annotations['kinship.dev/authors']", "annotations": "metadata.annotations",
		"deep": "spec" + strings.Repeat(".a", 10_000), "open": "spec.containers[", "far": "spec.a[4000000000]",
	} {
		w.refused(bare(name, 1)+"\n  parameters: [{name: p, fieldPaths: [\""+path+"\"]}]", "fieldPaths[0]")
	}
	w.write(bare("source", 1))
	w.write(bare("sink", 1))
	w.write(application("app", `componentName: source
      dataOutputs: [{name: key, fieldPath: status.list}]
    - componentName: sink
      dataInputs: [{valueFrom: {dataOutputName: key}, toFieldPaths: [spec.key]}]`))
	source := w.get("Bar", "source", nil)
	testenv.Eventually(t, func() error {
		if err := w.Read(source); err != nil {
			return err
		}
		source.Object["status"] = map[string]any{"list": []any{"a", "b"}}
		return w.C.Status().Update(t.Context(), source)
	})
	w.get("ApplicationConfiguration", "app", synced("spec.key is a number, and the value is a list"))
}

// testLargeStatus: the status of a HealthScope within the schema is too large for etcd. The condition says which field is
// missing, and the operator does not repeat the pass for ever.
func testLargeStatus(t *testing.T) {
	w := newWorld(t)
	var refs strings.Builder
	for i := range 3500 {
		fmt.Fprintf(&refs, "  - {apiVersion: example.com/v1, kind: Bar, name: \"%0200d\"}\n", i)
	}
	w.write("apiVersion: core.oam.dev/v1alpha2\nkind: HealthScope\nmetadata: {name: large}\nspec:\n  workloadRefs:\n" +
		refs.String())
	scope := w.get("HealthScope", "large", func(u *unstructured.Unstructured) error {
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		if text := fmt.Sprint(conditions); !strings.Contains(text, "status.healthConditions can't be stored") {
			return fmt.Errorf("conditions are %s", text)
		}
		return nil
	})
	if n := len(fmt.Sprint(scope.Object["status"])); n > 64<<10 {
		t.Errorf("the status has %d bytes", n)
	}
	if err := w.C.Delete(t.Context(), scope); err != nil {
		t.Fatal(err)
	}
}
