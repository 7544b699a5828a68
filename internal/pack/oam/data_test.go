package oam

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/dataflow"
)

// TestAddNode reads the data outputs and inputs of an application.
func TestAddNode(t *testing.T) {
	obj := &unstructured.Unstructured{}
	outputs := read[[]oamv1alpha2.DataOutput](t, `
- {name: out, fieldPath: status.key, conditions: [{op: eq, value: "1", fieldPath: spec.a, valueFrom: {fieldPath: spec.b}}]}
- outputStore: {apiVersion: v1, kind: ConfigMap, name: store, operations: [
    {type: jsonPatch, op: add, toFieldPath: data.a, toDataPath: b, value: "2", valueFrom: {fieldPath: spec.c}}]}`)
	inputs := read[[]oamv1alpha2.DataInput](t, `
- {valueFrom: {dataOutputName: out}, toFieldPaths: [spec.key], inputStore: {apiVersion: v1, kind: Secret, name: s}}`)
	var p part
	if err := p.addNode(obj, "f", outputs, inputs); err != nil {
		t.Fatal(err)
	}
	store, secret := &dataflow.Store{Name: "store"}, &dataflow.Store{Name: "s"}
	store.Version, store.Kind, secret.Version, secret.Kind = "v1", "ConfigMap", "v1", "Secret"
	store.Operations = []dataflow.Operation{{
		Field: "f.dataOutputs[1].outputStore.operations[0]", Operator: dataflow.Add,
		ToFieldPath: "data.a", ToDataPath: "b", Value: "2", ValueFrom: "spec.c", Conditions: []dataflow.Condition{},
	}}
	want := []dataflow.Node{{
		Object: obj,
		Outputs: []dataflow.Output{
			{Field: "f.dataOutputs[0]", Name: "out", FieldPath: "status.key", Conditions: []dataflow.Condition{
				{Operator: dataflow.Equal, Value: "1", ValueFrom: "spec.b", FieldPath: "spec.a"},
			}},
			{Field: "f.dataOutputs[1]", Conditions: []dataflow.Condition{}, Store: store},
		},
		Inputs: []dataflow.Input{{
			Field: "f.dataInputs[0]", Output: "out", ToFieldPaths: []string{"spec.key"},
			Conditions: []dataflow.Condition{}, Store: secret,
		}},
	}}
	if diff := cmp.Diff(want, p.nodes); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	outputs[1].OutputStore.Operations[0].Type = "script"
	err := p.addNode(obj, "f", outputs, nil)
	const refusal = `f.dataOutputs[1].outputStore.operations[0].type: there is no operation "script": use jsonPatch`
	if err == nil || err.Error() != refusal {
		t.Errorf("error %v, want %s", err, refusal)
	}
}
