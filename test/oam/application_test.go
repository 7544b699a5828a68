package oam_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const webComponent = `
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: web}
spec:
  workload:
    apiVersion: core.oam.dev/v1alpha2
    kind: ContainerizedWorkload
    spec:
      containers:
        - name: wordpress
          image: wordpress:php7.2
          ports: [{name: http, containerPort: 80}]
          config: [{path: /test/path/config, value: test-value}]
  parameters:
    - {name: instance-name, required: true, fieldPaths: [metadata.name]}
    - {name: image, fieldPaths: ["spec.containers[0].image"]}`

const webApplication = `
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: app, labels: {workload: containerized-workload}}
spec:
  components:
    - componentName: web
      parameterValues:
        - {name: instance-name, value: example}
        - {name: image, value: wordpress:php7.3}
      traits:
        - trait:
            apiVersion: core.oam.dev/v1alpha2
            kind: ManualScalerTrait
            metadata: {name: scaler, labels: {trait: containerized-workload}}
            spec: {replicaCount: 3}`

// testContainerized is E9: parameters, a trait with a name of its own, a file, labels, and three Pods.
func testContainerized(t *testing.T) {
	w := newWorld(t)
	w.write(webComponent)
	w.write(webApplication)
	w.get("Deployment", "example", field(3, "spec", "replicas"))
	w.get("Deployment", "example", field(3, "status", "replicas"))
	w.get("Service", "example", nil)
	w.get("ConfigMap", "example-wordpress-3972676475", field("test-value", "data", "config"))
	w.get("ApplicationConfiguration", "app", synced(""))
	w.get("ManualScalerTrait", "scaler", synced(""))
	d := w.get("Deployment", "example", nil)
	containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
	if got := containers[0].(map[string]any)["image"]; got != "wordpress:php7.3" {
		t.Errorf("the image is %v", got)
	}
	for kind, name := range map[string]string{"ContainerizedWorkload": "example", "ManualScalerTrait": "scaler"} {
		labels := w.get(kind, name, nil).GetLabels()
		for key, want := range map[string]string{
			"workload": "containerized-workload", "app.oam.dev/name": "app", "app.oam.dev/component": "web",
			"app.oam.dev/revision": "web-v1",
		} {
			if labels[key] != want {
				t.Errorf("label %s of %s is %q, want %q", key, kind, labels[key], want)
			}
		}
	}
	if d.GetGeneration() > 2 { // Created, and scaled.
		t.Errorf("the Deployment was changed %d times", d.GetGeneration())
	}
}

// testRevisions is E3, E4 and E5: each spec of a Component is recorded, an application with a
// revisionName stays, and one with a componentName follows.
func testRevisions(t *testing.T) {
	w := newWorld(t)
	w.write(bare("web", 1))
	w.get("Component", "web", field("web-v1", "status", "latestRevision", "name"))
	w.get("ControllerRevision", "web-v1", nil)
	w.write(application("follows", "componentName: web"))
	w.get("ApplicationConfiguration", "follows", synced(""))
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: stays}
spec:
  components: [{revisionName: web-v1}]`)
	w.get("ApplicationConfiguration", "stays", synced("not controlled by"))
	w.get("Bar", "web", field(1, "spec", "key"))
	w.change("Component", "web", int64(2), "spec", "workload", "spec", "key")
	w.get("Component", "web", field("web-v2", "status", "latestRevision", "name"))
	w.get("Bar", "web", field(2, "spec", "key"))
	w.get("ApplicationConfiguration", "follows", synced(""))
	// Without a rival the application with the revisionName gets the recorded spec.
	w.Delete(w.blank("ApplicationConfiguration", "follows"))
	w.get("Bar", "web", field(1, "spec", "key"))
	w.get("Bar", "web", field("web-v1", "metadata", "labels", "app.oam.dev/revision"))
}

func bare(name string, key int) string {
	return fmt.Sprintf(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: %s}
spec:
  workload: {apiVersion: example.com/v1, kind: Bar, spec: {key: %d}}`, name, key)
}

func application(name, component string) string {
	return fmt.Sprintf(`
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: %s}
spec:
  components:
    - %s`, name, component)
}

const barTrait = `
      traits: [{trait: {apiVersion: example.com/v1, kind: BarTrait, metadata: {name: rollout}, spec: {}}}]`

// testWorkloadPerRevision is E6 and E7: with a trait that is revisionEnabled, each revision has a
// workload, and the status names the present and the earlier.
func testWorkloadPerRevision(t *testing.T) {
	w := newWorld(t)
	w.write(bare("db", 1))
	w.write(application("app", "componentName: db") + barTrait)
	w.get("Bar", "db-v1", field(1, "spec", "key"))
	w.change("Component", "db", int64(2), "spec", "workload", "spec", "key")
	w.get("Bar", "db-v2", field(2, "spec", "key"))
	w.get("Bar", "db-v1", field(1, "spec", "key"))
	w.get("ApplicationConfiguration", "app", func(u *unstructured.Unstructured) error {
		now, _, _ := unstructured.NestedSlice(u.Object, "status", "workloads")
		before, _, _ := unstructured.NestedSlice(u.Object, "status", "historyWorkloads")
		if len(now) != 1 || len(before) != 1 {
			return fmt.Errorf("%d workloads and %d earlier, want one each", len(now), len(before))
		}
		return errors.Join(
			field("db-v2", "componentRevisionName")(&unstructured.Unstructured{Object: now[0].(map[string]any)}),
			field("db-v1", "revision")(&unstructured.Unstructured{Object: before[0].(map[string]any)}),
		)
	})
	// Without the component all its workloads go.
	w.write(bare("other", 1))
	w.change("ApplicationConfiguration", "app", []any{map[string]any{"componentName": "other"}}, "spec", "components")
	w.gone("Bar", "db-v2")
	w.gone("Bar", "db-v1")
	w.gone("BarTrait", "rollout")
	w.get("ApplicationConfiguration", "app", field(nil, "status", "historyWorkloads"))
}

// testTraitLater is E8: a workload keeps its name when a trait that is revisionEnabled is added.
func testTraitLater(t *testing.T) {
	w := newWorld(t)
	w.write(bare("db", 1))
	w.write(application("app", "componentName: db"))
	uid := w.get("Bar", "db", nil).GetUID()
	w.get("ApplicationConfiguration", "app", synced(""))
	trait := map[string]any{"trait": map[string]any{
		"apiVersion": "example.com/v1", "kind": "BarTrait", "metadata": map[string]any{"name": "rollout"},
		"spec": map[string]any{},
	}}
	w.change("ApplicationConfiguration", "app",
		[]any{map[string]any{"componentName": "db", "traits": []any{trait}}}, "spec", "components")
	w.get("BarTrait", "rollout", nil)
	w.get("ApplicationConfiguration", "app", synced(""))
	if got := w.get("Bar", "db", nil).GetUID(); got != uid {
		t.Error("the workload was created anew")
	}
	w.gone("Bar", "db-v1")
}

// testBareDeployment is E12: a trait scales a workload that is a Deployment without a definition.
func testBareDeployment(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: web}
spec:
  workload:
    apiVersion: apps/v1
    kind: Deployment
    spec:
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: web}]}`)
	w.write(application("app", "componentName: web") + `
      traits: [{trait: {apiVersion: core.oam.dev/v1alpha2, kind: ManualScalerTrait, spec: {replicaCount: 5}}}]`)
	w.get("Deployment", "web", field(5, "spec", "replicas"))
	w.get("ApplicationConfiguration", "app", synced(""))
}

// testTwoInstances is the rest of E11: two workloads of one component in a scope. Their traits have no
// names, and stay the same objects when the application changes.
func testTwoInstances(t *testing.T) {
	w := newWorld(t)
	w.write(healthScope)
	w.write(webComponent)
	instance := func(name string, count int) string {
		return fmt.Sprintf(`componentName: web
      parameterValues: [{name: instance-name, value: %s}]
      traits:
        - trait: {apiVersion: core.oam.dev/v1alpha2, kind: ManualScalerTrait, spec: {replicaCount: %d}}`, name, count) + scopes
	}
	w.write(application("app", instance("one", 1)+"\n    - "+instance("two", 2)))
	w.get("HealthScope", "health", field(2, "status", "scopeHealthCondition", "healthyWorkloads"))
	w.get("HealthScope", "health", field(2, "status", "scopeHealthCondition", "total"))
	w.get("HealthScope", "health", field("HEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.get("Deployment", "two", field(2, "spec", "replicas"))
	traits := func() (names []string) {
		app := w.get("ApplicationConfiguration", "app", synced(""))
		all, _, _ := unstructured.NestedSlice(app.Object, "status", "workloads")
		for _, workload := range all {
			refs, _, _ := unstructured.NestedSlice(workload.(map[string]any), "traits")
			for _, ref := range refs {
				name, _, _ := unstructured.NestedString(ref.(map[string]any), "traitRef", "name")
				names = append(names, name)
			}
		}
		return names
	}
	before := traits()
	w.write(application("app", instance("two", 3)+"\n    - "+instance("one", 1)))
	w.get("Deployment", "two", field(3, "spec", "replicas"))
	w.get("Deployment", "one", field(1, "spec", "replicas"))
	slices.Reverse(before) // The instances are in the other order now.
	if diff := cmp.Diff(before, traits()); diff != "" {
		t.Errorf("traits (-want +got):\n%s", diff)
	}
}

// testHealthScope is E2 and the first half of E11: the workload is in the scope while the application exists.
func testHealthScope(t *testing.T) {
	w := newWorld(t)
	w.write(healthScope)
	w.get("HealthScope", "health", field("HEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.write(webComponent)
	w.write(webApplication + scopes)
	app := w.get("ApplicationConfiguration", "app", synced(""))
	if got := app.GetFinalizers(); len(got) != 1 || got[0] != "oam.kinship.dev/scopes" {
		t.Errorf("finalizers are %v", got)
	}
	w.get("HealthScope", "health", field(1, "status", "scopeHealthCondition", "total"))
	w.get("HealthScope", "health", field("HEALTHY", "status", "scopeHealthCondition", "healthStatus"))
	w.Delete(app)
	w.gone("ApplicationConfiguration", "app")
	w.get("HealthScope", "health", field("[]", "spec", "workloadRefs"))
	w.get("HealthScope", "health", field("HEALTHY", "status", "scopeHealthCondition", "healthStatus"))
}

// testForeign is W8: an object that nobody controls is not taken over, and not deleted.
func testForeign(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: example.com/v1
kind: Bar
metadata: {name: mine}
spec: {key: 7}`)
	w.write(bare("mine", 1))
	w.write(application("app", "componentName: mine"))
	w.get("ApplicationConfiguration", "app", synced("Bar/mine is not controlled by"))
	w.Delete(w.blank("ApplicationConfiguration", "app"))
	w.gone("ApplicationConfiguration", "app")
	w.get("Bar", "mine", field(7, "spec", "key"))
}

// testRemoved is W6 and W7: a removed field and the workload of a removed component go, also one whose
// name begins with that of a component.
func testRemoved(t *testing.T) {
	w := newWorld(t)
	w.write(bare("a", 1))
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: b}
spec:
  workload: {apiVersion: example.com/v1, kind: Bar, metadata: {name: a-settings}, spec: {key: 1, more: 2}}`)
	w.write(application("app", "componentName: a\n    - componentName: b"))
	w.get("Bar", "a-settings", field(2, "spec", "more"))
	w.change("Component", "b", map[string]any{"key": int64(1)}, "spec", "workload", "spec")
	w.get("Bar", "a-settings", field(nil, "spec", "more"))
	w.change("ApplicationConfiguration", "app", []any{map[string]any{"componentName": "a"}}, "spec", "components")
	w.gone("Bar", "a-settings")
	w.get("Bar", "a", nil)
}

// testRestored is W1 to W4: deleted and edited children and traits come back, with the replicas of the
// trait.
func testRestored(t *testing.T) {
	w := newWorld(t)
	w.write(webComponent)
	w.write(webApplication)
	d := w.get("Deployment", "example", field(3, "spec", "replicas"))
	w.get("ApplicationConfiguration", "app", synced(""))
	w.Delete(d)
	w.Gone(d)
	again := w.get("Deployment", "example", field(3, "spec", "replicas"))
	if again.GetUID() == d.GetUID() {
		t.Error("the Deployment is the old one")
	}
	w.Delete(w.get("Service", "example", nil))
	w.get("Service", "example", nil)
	w.Delete(w.get("ManualScalerTrait", "scaler", nil))
	w.get("ManualScalerTrait", "scaler", synced(""))
	w.change("Deployment", "example", int64(1), "spec", "replicas")
	w.get("Deployment", "example", field(3, "spec", "replicas"))
	if got := w.get("Deployment", "example", nil).GetUID(); got != again.GetUID() {
		t.Error("the Deployment was created once more")
	}
}
