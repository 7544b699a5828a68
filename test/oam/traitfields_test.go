package oam_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cli"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// component is a Component with a workload.
const component = `
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: %s}
spec:
  workload: %s`

// deployed is an application of one Deployment with 1 Pod and the image web:1.
const deployed = `
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: %[1]s}
spec:
  workload:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: %[1]s%[3]s}
    spec:
      replicas: 1
      selector: {matchLabels: {app: %[1]s}}
      template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: 'web:1'}]}}
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: %[1]s}
spec:
  components:
    - componentName: %[1]s
      traits: [%[2]s]`

const (
	scalerOfTwo = "{trait: {apiVersion: core.oam.dev/v1alpha2, kind: ManualScalerTrait, metadata: {name: scaler}, " +
		"spec: {replicaCount: 2}}}"
	autoscaler = "{trait: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: %[1]s}, " +
		"spec: {maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}}}}"
)

// TestTraitsChangeFields: a field that a trait sets on a workload is the trait's for as long as the application has a trait
// for the workload, also after a change of the Component and a restart of the operator. The application stays Synced,
// tells who has the field, once by an event, and the value of the Component returns when the trait goes. Without a trait
// the field is taken back once.
func TestTraitsChangeFields(t *testing.T) {
	first := operator.Start(t, testKinds)
	define(t)
	w := newWorld(t)
	const manager = "spec.replicas is left to field manager "
	apps := map[string]struct {
		kind, trait, note string
		change            func(*unstructured.Unstructured)
		path              []string
		theirs, ours      any
	}{
		"scaled": {
			kind: "Deployment", trait: scalerOfTwo, note: manager + "kinship-oam/ManualScalerTrait/scaler",
			path: []string{"spec", "replicas"}, theirs: 2, ours: 1,
		},
		"hpa": {
			kind: "Deployment", trait: fmt.Sprintf(autoscaler, "hpa"), note: manager + "foreign",
			change: func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["replicas"] = int64(4) },
			path:   []string{"spec", "replicas"}, theirs: 4, ours: 1,
		},
		"patched": {
			kind: "Deployment", trait: fmt.Sprintf(autoscaler, "patched"),
			note: `spec.template.spec.containers[name="web"].image is left to field manager foreign`,
			change: func(u *unstructured.Unstructured) {
				pod := u.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
				pod["containers"].([]any)[0].(map[string]any)["image"] = "foreign:1"
			},
			path: []string{"spec", "template", "spec", "containers"}, theirs: "image:foreign:1", ours: "image:web:1",
		},
		"bar": {
			kind: "Bar", trait: fmt.Sprintf(autoscaler, "bar"), note: "spec.key is left to field manager foreign",
			change: func(u *unstructured.Unstructured) { u.Object["spec"].(map[string]any)["key"] = int64(7) },
			path:   []string{"spec", "key"}, theirs: 7, ours: 1,
		},
	}
	write := func(name, trait, annotations string) {
		t.Helper()
		text := fmt.Sprintf(deployed, name, trait, annotations)
		if name == "bar" {
			const workload = "apiVersion: example.com/v1, kind: Bar, spec: {key: 1}"
			_, app, _ := strings.Cut(text, "---")
			text = fmt.Sprintf(component, name, "{"+workload+", metadata: {name: bar"+annotations+"}}") + "\n---" + app
		}
		w.write(text)
	}
	for name, a := range apps {
		write(name, a.trait, "")
		w.get("ApplicationConfiguration", name, synced(""))
		if a.change != nil {
			w.meddle(a.kind, name, a.change)
		}
	}
	check := func(reason string) {
		t.Helper()
		for name, a := range apps {
			w.get(a.kind, name, has(a.theirs, a.path...))
			w.get("ApplicationConfiguration", name, leaves(a.kind+"/"+name+": "+a.note))
			if text := w.tree("applicationconfiguration/" + name); !strings.Contains(text, a.note) {
				t.Errorf("%s: kinship tree of %s does not say %q:\n%s", reason, name, a.note, text)
			}
		}
	}
	check("set by the trait")
	for name := range apps {
		w.change("Component", name, "1", "spec", "workload", "metadata", "annotations", "example.com/changed")
		w.get(apps[name].kind, name, field("1", "metadata", "annotations", "example.com/changed"))
	}
	check("the Component has changed")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	operator.Start(t, testKinds)
	for name := range apps {
		w.change("Component", name, "2", "spec", "workload", "metadata", "annotations", "example.com/changed")
		w.get(apps[name].kind, name, field("2", "metadata", "annotations", "example.com/changed"))
	}
	check("the operator was restarted")
	for name, a := range apps {
		if n := w.events(name, "FieldsLeft"); n != 1 {
			t.Errorf("%d events say that fields of %s are left to others, want 1", n, name)
		}
		write(name, "", ", annotations: {example.com/changed: '2'}")
		w.get(a.kind, name, has(a.ours, a.path...))
		w.get("ApplicationConfiguration", name, synced(""))
	}
	w.meddle("Deployment", "patched", apps["patched"].change)
	w.get("Deployment", "patched", has("image:web:1", apps["patched"].path...))
}

// tree returns what kinship tree says about an object.
func (w *world) tree(id string) string {
	w.T.Helper()
	var out bytes.Buffer
	args := []string{"kinship", "tree", id, "--kubeconfig", testenv.Kubeconfig(w.T), "--namespace", w.NS}
	if code := cli.Main(w.T.Context(), "test", args, nil, &out, &out); code != 0 {
		w.T.Errorf("kinship tree %s: code %d: %s", id, code, out.String())
	}
	return out.String()
}

// events counts the events about an application with a reason, with repetitions.
func (w *world) events(application, reason string) (n int) {
	w.T.Helper()
	var list eventsv1.EventList
	if err := w.C.List(w.T.Context(), &list, client.InNamespace(w.NS)); err != nil {
		w.T.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Regarding.Name == application && e.Reason == reason {
			n++
			if e.Series != nil {
				n += int(e.Series.Count) - 1
			}
		}
	}
	return n
}

// has is field for a list too: the text of the value has the wanted text.
func has(want any, path ...string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		got, _, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		if !strings.Contains(fmt.Sprint(got), fmt.Sprint(want)) {
			return fmt.Errorf("%s of %s is %v, want %v", strings.Join(path, "."), u.GetName(), got, want)
		}
		return nil
	}
}

// meddle changes an object as field manager foreign.
func (w *world) meddle(kind, name string, change func(*unstructured.Unstructured)) {
	w.T.Helper()
	u := w.get(kind, name, nil)
	testenv.Eventually(w.T, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		change(u)
		return w.C.Update(w.T.Context(), u, client.FieldOwner("foreign"))
	})
}
