package oam_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// testShortNames: a workload may have the name of its definition as type, and a trait the name of its
// definition as name, with properties.
func testShortNames(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: db}
spec:
  workload: {type: mydbs.standard.oam.dev, spec: {containers: [{name: a, image: b}]}}`)
	w.write(application("app", "componentName: db") + `
      traits: [{trait: {name: bartraits.example.com, properties: {speed: 3}}}]`)
	w.get("Component", "db", field("Mydb", "spec", "workload", "kind"))
	w.get("Mydb", "db-v1", field("[map[image:b name:a]]", "spec", "containers"))
	w.get("Mydb", "db-v1", field("mydbs.standard.oam.dev", "metadata", "labels", "workload.oam.dev/type"))
	trait := w.get("ApplicationConfiguration", "app", synced(""))
	components, _, _ := unstructured.NestedSlice(trait.Object, "status", "workloads")
	traits := components[0].(map[string]any)["traits"].([]any)
	name := traits[0].(map[string]any)["traitRef"].(map[string]any)["name"].(string)
	w.get("BarTrait", name, field(3, "spec", "speed"))
	w.refused(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: none}
spec: {workload: {type: nobodys.example.com}}`, "there is no WorkloadDefinition/nobodys.example.com")
}

// testApplies: a trait is applied to the workloads that its definition names alone.
func testApplies(t *testing.T) {
	w := newWorld(t)
	w.write(bare("web", 1))
	w.write(application("app", "componentName: web") + `
      traits:
        - trait: {apiVersion: example.com/v1, kind: BarTrait, metadata: {name: x, labels: {trait.oam.dev/type: picky}}}`)
	w.get("ApplicationConfiguration", "app", synced("TraitDefinition/picky applies to *.apps, and the workload is a Bar"))
	w.change("TraitDefinition", "picky", []any{"example.com/v1.Bar"}, "spec", "appliesToWorkloads")
	w.get("ApplicationConfiguration", "app", synced(""))
	w.get("BarTrait", "x", nil)
}

// testUndefined is C1 and N1: kinds without definitions work, and the status says that the trait has
// none.
func testUndefined(t *testing.T) {
	w := newWorld(t)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: config}
spec:
  workload: {apiVersion: v1, kind: ConfigMap, data: {a: b}}`)
	w.write(application("app", "componentName: config") + `
      traits: [{trait: {apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}}]`)
	w.get("ConfigMap", "config", field("b", "data", "a"))
	app := w.get("ApplicationConfiguration", "app", synced(""))
	workloads, _, _ := unstructured.NestedSlice(app.Object, "status", "workloads")
	trait := workloads[0].(map[string]any)["traits"].([]any)[0].(map[string]any)
	const message = "No valid TraitDefinition found, all framework capabilities will work as default or disabled"
	if trait["message"] != message {
		t.Errorf("the message of the trait is %v", trait["message"])
	}
	w.get("Service", trait["traitRef"].(map[string]any)["name"].(string), nil)
}

// testRivals: what other controllers add to a child stays. A field of the component that another
// controller sets is taken back once, and then both are named.
func testRivals(t *testing.T) {
	w := newWorld(t)
	w.write(webComponent)
	w.write(`
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: app}
spec:
  components: [{componentName: web, parameterValues: [{name: instance-name, value: web}]}]`)
	w.get("Deployment", "web", nil)
	w.get("ApplicationConfiguration", "app", synced(""))
	meddle := func(image string) {
		t.Helper()
		d := w.blank("Deployment", "web")
		testenv.Eventually(t, func() error {
			if err := w.Read(d); err != nil {
				return err
			}
			sidecar := map[string]any{"name": "proxy", "image": "proxy"}
			container := map[string]any{"name": "wordpress", "image": image}
			spec := d.Object["spec"].(map[string]any)
			spec["replicas"] = int64(4)
			pod := spec["template"].(map[string]any)["spec"].(map[string]any)
			pod["containers"] = []any{container, sidecar}
			return w.C.Update(t.Context(), d, client.FieldOwner("meddler"))
		})
	}
	image := func(want string) func(*unstructured.Unstructured) error {
		return func(u *unstructured.Unstructured) error {
			containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
			return field(want, "image")(&unstructured.Unstructured{Object: containers[0].(map[string]any)})
		}
	}
	meddle("wordpress:evil")
	w.get("Deployment", "web", image("wordpress:php7.2"))
	w.get("Deployment", "web", field(4, "spec", "replicas"))
	d := w.get("Deployment", "web", nil)
	containers, _, _ := unstructured.NestedSlice(d.Object, "spec", "template", "spec", "containers")
	if len(containers) != 2 {
		t.Errorf("%d containers, want the sidecar too", len(containers))
	}
	meddle("wordpress:evil")
	w.get("ContainerizedWorkload", "web", leaves(`Deployment/web: spec.template.spec.containers[name="wordpress"].image `+
		"is left to field manager meddler"))
	w.get("Deployment", "web", image("wordpress:evil"))
}

// testOtherStatuses is E10: what other controllers write into the fields named status is kept.
func testOtherStatuses(t *testing.T) {
	w := newWorld(t)
	w.write(webComponent)
	w.write(webApplication)
	app := w.get("ApplicationConfiguration", "app", synced(""))
	testenv.Eventually(t, func() error {
		if err := w.Read(app); err != nil {
			return err
		}
		status := app.Object["status"].(map[string]any)
		status["status"] = "running"
		workload := status["workloads"].([]any)[0].(map[string]any)
		workload["status"] = "ready"
		workload["traits"].([]any)[0].(map[string]any)["status"] = "scaled"
		return w.C.Status().Update(t.Context(), app)
	})
	testenv.Eventually(t, func() error {
		if err := w.Read(app); err != nil {
			return err
		}
		spec := app.Object["spec"].(map[string]any)["components"].([]any)[0].(map[string]any)
		trait := spec["traits"].([]any)[0].(map[string]any)["trait"].(map[string]any)
		trait["spec"].(map[string]any)["replicaCount"] = int64(1)
		return w.C.Update(t.Context(), app)
	})
	w.get("Deployment", "example", field(1, "spec", "replicas"))
	app = w.get("ApplicationConfiguration", "app", synced(""))
	workload := app.Object["status"].(map[string]any)["workloads"].([]any)[0].(map[string]any)
	trait := workload["traits"].([]any)[0].(map[string]any)
	for what, got := range map[string]any{
		"running": app.Object["status"].(map[string]any)["status"], "ready": workload["status"], "scaled": trait["status"],
	} {
		if got != what {
			t.Errorf("the status is %v, want %s", got, what)
		}
	}
}

// testLaterFields: fields that people wrote for later runtimes of this API version are accepted and kept by server-side
// apply, in each kind of definition.
func testLaterFields(t *testing.T) {
	w := newWorld(t)
	const spec = "{definitionRef: {name: bars.example.com}, allowComponentOverlap: true, schematic: {cue: {template: 'a: 1'}}, " +
		"status: {healthPolicy: 'isHealth: true'}}"
	for _, kind := range []string{"WorkloadDefinition", "TraitDefinition", "ScopeDefinition"} {
		name := "later-" + w.NS
		text := "apiVersion: core.oam.dev/v1alpha2\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: " + spec
		if kind != "ScopeDefinition" {
			text = strings.Replace(text, "allowComponentOverlap: true, ", "", 1)
		}
		w.write(text)
		w.get(kind, name, field("a: 1", "spec", "schematic", "cue", "template"))
		w.get(kind, name, field("isHealth: true", "spec", "status", "healthPolicy"))
	}
}
