package oam

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// memory are sources in memory.
type memory struct {
	components map[string]oamv1alpha2.Component
	traits     map[string]*oamv1alpha2.TraitDefinition
}

func (m memory) component(c *oamv1alpha2.ApplicationConfigurationComponent) (component, error) {
	found, ok := m.components[c.ComponentName]
	if !ok {
		return component{}, relation.Wrong("spec.components", "there is no Component %s", c.ComponentName)
	}
	return component{name: found.Name, revision: found.Name + "-v1", spec: found.Spec}, nil
}

func (m memory) trait(name string) *oamv1alpha2.TraitDefinition { return m.traits[name] }

func (memory) plural(gvk schema.GroupVersionKind) (string, bool) {
	return strings.ToLower(gvk.Kind) + "s", gvk.Kind != "Unserved"
}

const mydb = `
metadata: {name: example-db}
spec:
  workload:
    apiVersion: standard.oam.dev/v1alpha2
    kind: Mydb
    spec: {containers: [{name: mysql, image: "mysql:latest"}]}
  parameters:
    - {name: image, fieldPaths: ["spec.containers[0].image"]}
    - {name: size, fieldPaths: [spec.size, spec.max], required: true}
    - {name: owner, fieldPaths: ["metadata.ownerReferences[0].name"]}
    - {name: far, fieldPaths: ["spec.containers[4000].image"]}
`

const mydbApplication = `
metadata: {name: app, namespace: team, generation: 3, labels: {tier: gold}, uid: u1}
spec:
  components:
    - componentName: example-db
      parameterValues: [{name: image, value: "mysql:8"}, {name: size, value: 5}]
      traits:
        - trait: {apiVersion: core.oam.dev/v1alpha2, kind: ManualScalerTrait, spec: {replicaCount: 3}}
`

func read[T any](t *testing.T, text string) T {
	t.Helper()
	var obj T
	if err := yaml.UnmarshalStrict([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func sourcesOf(t *testing.T) memory {
	t.Helper()
	c := read[oamv1alpha2.Component](t, mydb)
	return memory{
		map[string]oamv1alpha2.Component{c.Name: c},
		map[string]*oamv1alpha2.TraitDefinition{"manualscalertraits.core.oam.dev": {
			ObjectMeta: metav1.ObjectMeta{Name: "manualscalertraits.core.oam.dev"},
			Spec:       oamv1alpha2.TraitDefinitionSpec{WorkloadRefPath: "spec.workloadRef"},
		}},
	}
}

// TestRender renders the application of the seed.
func TestRender(t *testing.T) {
	ac := read[oamv1alpha2.ApplicationConfiguration](t, mydbApplication)
	app, err := render(&ac, sourcesOf(t))
	if err != nil {
		t.Fatal(err)
	}
	p := app.parts[0]
	spec := map[string]any{
		"containers": []any{map[string]any{"name": "mysql", "image": "mysql:8"}}, "size": int64(5), "max": int64(5),
	}
	if diff := cmp.Diff(spec, p.workload.Object["spec"]); diff != "" {
		t.Errorf("spec of the workload (-want +got):\n%s", diff)
	}
	scaler := p.traits[0].object
	ref := map[string]any{"apiVersion": "standard.oam.dev/v1alpha2", "kind": "Mydb", "name": "example-db"}
	want := map[string]any{"replicaCount": int64(3), "workloadRef": ref}
	if diff := cmp.Diff(want, scaler.Object["spec"]); diff != "" {
		t.Errorf("spec of the trait (-want +got):\n%s", diff)
	}
	labels := map[string]string{
		"app.oam.dev/name": "app", "app.oam.dev/component": "example-db", "app.oam.dev/revision": "example-db-v1",
		"app.oam.dev/resourceType": "TRAIT", "tier": "gold",
	}
	if diff := cmp.Diff(labels, scaler.GetLabels()); diff != "" {
		t.Errorf("labels of the trait (-want +got):\n%s", diff)
	}
	if owner := metav1.GetControllerOf(p.workload); owner == nil || owner.UID != "u1" {
		t.Errorf("the controller of the workload is %v", owner)
	}
	if p.workload.GetNamespace() != "team" || p.workload.GetAnnotations()["app.oam.dev/generation"] != "3" {
		t.Errorf("metadata of the workload: %v", p.workload.Object["metadata"])
	}
}

// TestRenderWithoutPath: a trait whose definition has no workloadRefPath is left as it is.
func TestRenderWithoutPath(t *testing.T) {
	ac, from := read[oamv1alpha2.ApplicationConfiguration](t, mydbApplication), sourcesOf(t)
	from.traits["manualscalertraits.core.oam.dev"].Spec.WorkloadRefPath = ""
	app, err := render(&ac, from)
	if err != nil {
		t.Fatal(err)
	}
	spec := map[string]any{"replicaCount": int64(3)}
	if diff := cmp.Diff(spec, app.parts[0].traits[0].object.Object["spec"]); diff != "" {
		t.Errorf("spec of the trait (-want +got):\n%s", diff)
	}
	delete(from.traits, "manualscalertraits.core.oam.dev")
	if app, err = render(&ac, from); err != nil || app.parts[0].traits[0].message != noTraitDefinition {
		t.Errorf("without a definition: %v, error %v", app.parts, err)
	}
	if name := app.parts[0].traits[0].object.GetName(); !strings.HasPrefix(name, "example-db-dummy-") {
		t.Errorf("the trait without a definition is called %s", name)
	}
}

// TestRenderRefused: an error names the field, and says what is wrong.
func TestRenderRefused(t *testing.T) {
	for name, c := range map[string]struct{ old, now, want string }{
		"no component": {"componentName: example-db", "componentName: other", "there is no Component other"},
		"two names": {
			"componentName: example-db", "componentName: example-db\n      revisionName: r",
			"set componentName or revisionName",
		},
		"unknown parameter":  {"name: image", "name: picture", `the Component has no parameter "picture"`},
		"required parameter": {", {name: size, value: 5}", "", `requires a value for the parameter "size"`},
		"owner":              {"name: image", "name: owner", "metadata.ownerReferences can't be set by a path"},
		"far element":        {"name: image", "name: far", "element 4000 is too far beyond"},
		"kind not served":    {"kind: ManualScalerTrait", "kind: Unserved", "traits[0].trait: the API server serves no"},
		"no kind":            {"kind: ManualScalerTrait, ", "", "traits[0].trait: it needs an apiVersion and a kind"},
	} {
		t.Run(name, func(t *testing.T) {
			ac := read[oamv1alpha2.ApplicationConfiguration](t, strings.Replace(mydbApplication, c.old, c.now, 1))
			if _, err := render(&ac, sourcesOf(t)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestRenderHostile: paths of a few bytes ask for lists of gigabytes.
func TestRenderHostile(t *testing.T) {
	ac, from := read[oamv1alpha2.ApplicationConfiguration](t, mydbApplication), sourcesOf(t)
	c := from.components["example-db"]
	for i := range 256 {
		path := fmt.Sprintf("spec.a%d", i) + strings.Repeat("[999]", 30)
		c.Spec.Parameters[0].FieldPaths = append(c.Spec.Parameters[0].FieldPaths, path)
	}
	from.components["example-db"] = c
	const want = "all paths together set more than"
	if _, err := render(&ac, from); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// TestRenderTemplate: a template that was taken from a cluster has fields that the API server sets.
func TestRenderTemplate(t *testing.T) {
	ac, from := read[oamv1alpha2.ApplicationConfiguration](t, mydbApplication), sourcesOf(t)
	c := from.components["example-db"]
	c.Spec.Workload.Raw = []byte(`{"apiVersion":"example.com/v1","kind":"Bar","metadata":{"uid":"u","resourceVersion":"1",
		"labels":{"a":"b"}},"spec":{"containers":[{}],"n":9223372036854775807},"status":{"key":"v"}}`)
	from.components["example-db"] = c
	app, err := render(&ac, from)
	if err != nil {
		t.Fatal(err)
	}
	bar := app.parts[0].workload
	if bar.GetUID() != "" || bar.GetResourceVersion() != "" || bar.GetLabels()["a"] != "b" || bar.Object["status"] != nil {
		t.Errorf("the workload is %v", bar.Object)
	}
	if n, _, _ := unstructured.NestedInt64(bar.Object, "spec", "n"); n != math.MaxInt64 {
		t.Errorf("the largest number became %d", n)
	}
}

// TestRenderInstances: traits keep their names in every pass, also if two workloads come from one component.
func TestRenderInstances(t *testing.T) {
	from := sourcesOf(t)
	c := from.components["example-db"]
	c.Spec.Parameters = []oamv1alpha2.ComponentParameter{{Name: "name", FieldPaths: []string{"metadata.name"}}}
	from.components["example-db"] = c
	scaler := func(name string, count int) string {
		return fmt.Sprintf(`{trait: {apiVersion: core.oam.dev/v1alpha2, kind: ManualScalerTrait, metadata: {%s}, `+
			`spec: {replicaCount: %d}}}`, name, count)
	}
	instance := func(name string, traits ...string) string {
		return fmt.Sprintf("{componentName: example-db, parameterValues: [{name: name, value: %s}], traits: [%s]}",
			name, strings.Join(traits, ", "))
	}
	ac := read[oamv1alpha2.ApplicationConfiguration](t, "spec: {components: ["+
		instance("one", scaler("", 1))+", "+instance("two", scaler("", 2))+"]}")
	first := namesAfter(t, &ac, from)
	if diff := cmp.Diff(first, namesAfter(t, &ac, from)); diff != "" {
		t.Errorf("names of the second pass (-first +second):\n%s", diff)
	}
	ac.Spec = read[oamv1alpha2.ApplicationConfiguration](t, "spec: {components: ["+
		instance("two", scaler("", 2))+", "+instance("one", scaler("", 3), scaler("name: "+first[1], 1))+"]}").Spec
	after := namesAfter(t, &ac, from)
	if diff := cmp.Diff([]string{"two", first[3], "one", after[3], first[1]}, after); diff != "" {
		t.Errorf("names of the new order (-want +got):\n%s", diff)
	}
	if after[3] == first[1] {
		t.Error("an unnamed trait took the name of a named one")
	}
}

// namesAfter returns the names of the objects of an application, and writes its status.
func namesAfter(t *testing.T, ac *oamv1alpha2.ApplicationConfiguration, from sources) []string {
	t.Helper()
	app, err := render(ac, from)
	if err != nil {
		t.Fatal(err)
	}
	p := applicationPass{ApplicationConfiguration: ac, app: app, former: ac.Status.Workloads}
	p.setWorkloads()
	names := make([]string, 0, len(app.objects()))
	for _, o := range app.objects() {
		names = append(names, o.GetName())
	}
	return names
}

// TestKeepFormer: the status names former workloads until they are deleted: of removed components, and of
// other revisions. After a restart the operator reads from the status what to delete.
func TestKeepFormer(t *testing.T) {
	names := func(p *applicationPass) []string {
		all := make([]string, 0, len(p.Status.Workloads)+len(p.Status.HistoryWorkloads))
		for _, w := range p.Status.Workloads {
			all = append(all, w.Reference.Name)
		}
		for _, h := range p.Status.HistoryWorkloads {
			all = append(all, h.Reference.Name)
		}
		return all
	}
	ref := func(name string) oamv1alpha2.TypedReference {
		return oamv1alpha2.TypedReference{Kind: "Bar", Name: name}
	}
	p := &applicationPass{
		ApplicationConfiguration: &oamv1alpha2.ApplicationConfiguration{},
		former:                   []oamv1alpha2.WorkloadStatus{{Reference: ref("removed")}},
		formerHistory:            []oamv1alpha2.HistoryWorkload{{Reference: ref("stays")}, {Reference: ref("goes")}},
		history:                  []oamv1alpha2.HistoryWorkload{{Reference: ref("stays")}},
	}
	p.setWorkloads()
	p.keepFormer()
	if diff := cmp.Diff([]string{"removed", "stays", "goes"}, names(p)); diff != "" {
		t.Errorf("workloads before the deletion (-want +got):\n%s", diff)
	}
	new(applicationReconciler).forgetFormer(t.Context(), p)
	if diff := cmp.Diff([]string{"stays"}, names(p)); diff != "" {
		t.Errorf("workloads after the deletion (-want +got):\n%s", diff)
	}
}

// TestSameSpec: numbers beyond 2^53 differ by one.
func TestSameSpec(t *testing.T) {
	with := func(n string) *oamv1alpha2.Component {
		var c oamv1alpha2.Component
		c.Spec.Workload.Raw = []byte(`{"spec":{"n":` + n + `}}`)
		return &c
	}
	if sameSpec(with("9007199254740992"), with("9007199254740993")) || !sameSpec(with("1"), with("1")) {
		t.Error("specs are compared by rounded numbers")
	}
}

// TestTraitHash: names of traits are those of the published runtime.
func TestTraitHash(t *testing.T) {
	if got := "simple-trait-" + traitHash(&oamv1alpha2.ComponentTrait{}); got != "simple-trait-67b8949f8d" {
		t.Errorf("an empty trait is called %s", got)
	}
}

// TestWorkloadName: which name a workload gets.
func TestWorkloadName(t *testing.T) {
	before := &earlier{ComponentRevisionName: "web-v1", Reference: oamv1alpha2.TypedReference{Name: "web"}}
	for name, c := range map[string]struct {
		revision string
		enabled  bool
		before   *earlier
		want     string
	}{
		"without revisions":         {"web-v1", false, nil, "web"},
		"with revisions":            {"web-v1", true, nil, "web-v1"},
		"revisions that come later": {"web-v1", true, before, "web"},
		"a new revision":            {"web-v2", true, before, "web-v2"},
	} {
		if got := workloadName("web", c.revision, c.enabled, c.before); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
