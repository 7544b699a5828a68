package oam_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// report writes the status of an object, as its controller would.
func (w *world) report(kind, name string, status map[string]any) {
	w.T.Helper()
	u := w.get(kind, name, nil)
	testenv.Eventually(w.T, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		u.Object["status"] = status
		return w.C.Status().Update(w.T.Context(), u)
	})
}

// unsatisfied is a condition that the application waits for one value, for a reason.
func unsatisfied(reason string) func(*unstructured.Unstructured) error {
	return func(u *unstructured.Unstructured) error {
		all, _, _ := unstructured.NestedSlice(u.Object, "status", "dependency", "unsatisfied")
		if len(all) != 1 || !strings.Contains(fmt.Sprint(all[0].(map[string]any)["reason"]), reason) {
			return fmt.Errorf("unsatisfied are %v, want one for %q", all, reason)
		}
		return nil
	}
}

// missing fails the test if an object exists.
func (w *world) missing(kind, name string) {
	w.T.Helper()
	if err := w.Read(w.blank(kind, name)); err == nil {
		w.T.Errorf("%s %s exists before its value", kind, name)
	}
}

// testDataPassing is D1 to D4: a workload or a trait that needs a value of another workload or trait
// waits for the value.
func testDataPassing(t *testing.T) {
	const output = "dataOutputs: [{name: key, fieldPath: status.key}]"
	const input = "dataInputs: [{valueFrom: {dataOutputName: key}, toFieldPaths: [spec.from]}]"
	trait := func(name, data string) string {
		return fmt.Sprintf("\n      traits: [{trait: {apiVersion: example.com/v1, kind: BarTrait, "+
			"metadata: {name: %s, labels: {trait.oam.dev/type: plain}}}, %s}]", name, data)
	}
	for name, c := range map[string]struct{ source, sink, from, to string }{
		"component to component": {"\n      " + output, "\n      " + input, "Bar", "Bar"},
		"component to trait":     {"\n      " + output, trait("sink", input), "Bar", "BarTrait"},
		"trait to component":     {trait("source", output), "\n      " + input, "BarTrait", "Bar"},
		"trait to trait":         {trait("source", output), trait("sink", input), "BarTrait", "BarTrait"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write(bare("source", 1))
			w.write(bare("sink", 2))
			w.write(application("app", "componentName: source"+c.source+"\n    - componentName: sink"+c.sink))
			w.get("ApplicationConfiguration", "app", unsatisfied("status.key not found in object"))
			w.missing(c.to, "sink")
			w.report(c.from, "source", map[string]any{"key": "value"})
			w.get(c.to, "sink", field("value", "spec", "from"))
			w.get("ApplicationConfiguration", "app", field(nil, "status", "dependency", "unsatisfied"))
			w.get("ApplicationConfiguration", "app", synced(""))
		})
	}
}

// testDataConditions is D5: a value is passed once its condition holds, which compares with a field of
// the application, and the sink follows.
func testDataConditions(t *testing.T) {
	w := newWorld(t)
	w.write(bare("source", 1))
	w.write(bare("sink", 2))
	w.write(strings.Replace(application("app", `componentName: source
      dataOutputs:
        - name: key
          fieldPath: status.key
          conditions:
            - {op: eq, valueFrom: {fieldPath: metadata.labels.app-hash}, fieldPath: status.app-hash}
            - {op: eq, value: "2", fieldPath: status.number}
    - componentName: sink
      dataInputs: [{valueFrom: {dataOutputName: key}, toFieldPaths: [spec.from]}]`),
		"{name: app}", "{name: app, labels: {app-hash: hash-v2}}", 1))
	w.report("Bar", "source", map[string]any{"key": "old", "app-hash": "hash-v1", "number": int64(2)})
	w.get("ApplicationConfiguration", "app", unsatisfied("got(hash-v1) expected to be hash-v2"))
	w.missing("Bar", "sink")
	w.report("Bar", "source", map[string]any{"key": "new", "app-hash": "hash-v2", "number": int64(2)})
	w.get("Bar", "sink", field("new", "spec", "from"))
	w.report("Bar", "source", map[string]any{"key": "newer", "app-hash": "hash-v2", "number": int64(2)})
	w.get("Bar", "sink", field("newer", "spec", "from"))
}

// testDataStores is D6 to D8: values pass through a ConfigMap.
func testDataStores(t *testing.T) {
	w := newWorld(t)
	w.write(bare("source", 1))
	w.write(bare("sink", 2))
	w.write(application("app", `componentName: source
      dataOutputs:
        - outputStore:
            apiVersion: v1
            kind: ConfigMap
            name: store
            operations:
              - {type: jsonPatch, op: add, toFieldPath: data, value: "{}"}
              - type: jsonPatch
                op: add
                toFieldPath: data.key
                valueFrom: {fieldPath: status.key}
                conditions: [{op: notEq, fieldPath: status.key, value: ""}]
              - {type: jsonPatch, op: add, toFieldPath: data.json, toDataPath: a.b, valueFrom: {fieldPath: status.key}}
    - componentName: sink
      dataInputs:
        - inputStore:
            apiVersion: v1
            kind: ConfigMap
            name: store
            operations:
              - {type: jsonPatch, op: delete, toFieldPath: spec.key}
              - {type: jsonPatch, op: add, toFieldPath: spec.from, valueFrom: {fieldPath: data.key}}`))
	w.report("Bar", "source", map[string]any{"key": ""})
	w.get("ApplicationConfiguration", "app", func(u *unstructured.Unstructured) error {
		all, _, _ := unstructured.NestedSlice(u.Object, "status", "dependency", "unsatisfied")
		if len(all) != 2 {
			return fmt.Errorf("unsatisfied are %v, want those of the store and of the sink", all)
		}
		return nil
	})
	w.missing("Bar", "sink")
	w.report("Bar", "source", map[string]any{"key": "value"})
	w.get("ConfigMap", "store", field(`{"a":{"b":"value"}}`, "data", "json"))
	w.get("Bar", "sink", field("value", "spec", "from"))
	w.get("Bar", "sink", field(nil, "spec", "key"))
	w.report("Bar", "source", map[string]any{"key": "other"})
	w.get("Bar", "sink", field("other", "spec", "from"))
	store := w.get("ConfigMap", "store", nil)
	w.report("Bar", "source", map[string]any{"key": ""}) // A store without a new value keeps the old one.
	w.get("ApplicationConfiguration", "app", func(u *unstructured.Unstructured) error {
		if all, _, _ := unstructured.NestedSlice(u.Object, "status", "dependency", "unsatisfied"); len(all) == 0 {
			return errors.New("nothing is unsatisfied")
		}
		return nil
	})
	w.report("Bar", "source", map[string]any{"key": "last"})
	w.get("Bar", "sink", field("last", "spec", "from"))
	if now := w.get("ConfigMap", "store", nil); now.GetUID() != store.GetUID() {
		t.Error("the store was deleted while its value was missing")
	}
}
