package oam

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
)

func unstructuredOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// fromKey is an output, and toKey an input.
const (
	fromKey = `{fieldPath: status.key}`
	toKey   = `{toFieldPaths: [spec.key]}`
)

// TestFill passes one value, under conditions.
func TestFill(t *testing.T) {
	const sink = `{"apiVersion":"v1","kind":"Sink","metadata":{"name":"s"},"spec":{"list":["x"],"text":"t"}}`
	for name, c := range map[string]struct {
		source, output, input string
		want, reason, fails   string
	}{
		"a value":        {`{"status":{"key":"v"}}`, fromKey, toKey, `"key":"v"`, "", ""},
		"a number":       {`{"status":{"key":7}}`, fromKey, toKey, `"key":7`, "", ""},
		"no source":      {"", fromKey, toKey, "", "Source o does not exist", ""},
		"no value":       {`{"status":{}}`, fromKey, toKey, "", "status.key not found in object", ""},
		"an empty value": {`{"status":{"key":""}}`, fromKey, toKey, "", "status.key is empty", ""},
		"equal to the application": {
			`{"status":{"key":"v","hash":"hash-v1"}}`,
			`{fieldPath: status.key, conditions: ` +
				`[{op: eq, fieldPath: status.hash, valueFrom: {fieldPath: "metadata.labels.app-hash"}}]}`,
			toKey, "", "got(hash-v1) expected to be hash-v2", "",
		},
		"an equal number": {
			`{"status":{"key":"v","observedGeneration":1}}`,
			`{fieldPath: status.key, conditions: [{op: eq, fieldPath: status.observedGeneration, value: "1"}]}`,
			toKey, `"key":"v"`, "", "",
		},
		"not equal": {
			`{"status":{"key":"v"}}`, `{fieldPath: status.key, conditions: [{op: notEq, value: v}]}`,
			toKey, "", "got(v) expected not to be v", "",
		},
		"not empty": {
			`{"status":{"key":[]}}`, `{fieldPath: status.key, conditions: [{op: notEmpty}]}`,
			toKey, "", "value should not be empty", "",
		},
		"appended": {`{"status":{"key":["y"]}}`, fromKey, `{toFieldPaths: [spec.list]}`, `"list":["x","y"]`, "", ""},
		"a list into a text": {
			`{"status":{"key":["y"]}}`, fromKey, `{toFieldPaths: [spec.text]}`, "", "",
			"f.dataInputs[0].toFieldPaths[0]: spec.text is a string, and the value is a list",
		},
		"a far element": {
			`{"status":{"key":"v"}}`, fromKey, `{toFieldPaths: ["spec.list[4000000000]"]}`, "", "", "is beyond",
		},
		"a deep path": {
			`{"status":{"key":"v"}}`, fromKey, `{toFieldPaths: ["a` + strings.Repeat(".a", 200) + `"]}`, "", "",
			"has more than 32 steps",
		},
		"an owner": {
			`{"status":{"key":"v"}}`, fromKey, `{toFieldPaths: ["metadata.ownerReferences[0].uid"]}`, "", "",
			"metadata.ownerReferences can't be set by a path",
		},
		"a name": {
			`{"status":{"key":"v"}}`, fromKey, `{toFieldPaths: [metadata.name]}`, "", "",
			"metadata.name can't be set by a data input",
		},
		"no operator": {
			`{"status":{"key":"v"}}`, `{fieldPath: status.key, conditions: [{op: like}]}`, toKey, "", "",
			`there is no operator "like"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			into := unstructuredOf(t, sink)
			source := unstructuredOf(t, `{"apiVersion":"v1","kind":"Source","metadata":{"name":"o"}}`)
			x := exchange{
				outputs: map[string]output{"out": {source, read[oamv1alpha2.DataOutput](t, c.output)}},
				content: map[string]any{"metadata": map[string]any{"labels": map[string]any{"app-hash": "hash-v2"}}},
				live: func(obj *unstructured.Unstructured) *unstructured.Unstructured {
					if obj != source || c.source == "" {
						return nil
					}
					live := &unstructured.Unstructured{}
					if err := live.UnmarshalJSON([]byte(`{"kind":"Source",` + c.source[1:])); err != nil {
						t.Fatal(err)
					}
					return live
				},
			}
			input := read[oamv1alpha2.DataInput](t, c.input)
			input.ValueFrom.DataOutputName = "out"
			unsatisfied, err := x.fill(into, []oamv1alpha2.DataInput{input}, "f")
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("error %v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			for _, u := range unsatisfied {
				reason += u.Reason
			}
			if diff := cmp.Diff(c.reason, reason); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
			if text, _ := into.MarshalJSON(); !strings.Contains(string(text), c.want) {
				t.Errorf("the object is %s, want %s in it", text, c.want)
			}
		})
	}
}

// TestOrder: objects that wait for values of each other are refused, in a store too.
func TestOrder(t *testing.T) {
	const gives, takes = "{name: %s, fieldPath: status.key}", "{valueFrom: {dataOutputName: %s}, toFieldPaths: [spec.key]}"
	const store = "{apiVersion: v1, kind: Store, name: %s}"
	const stores, loads = "{outputStore: " + store + "}", "{inputStore: " + store + "}"
	for name, c := range map[string]struct {
		outputs, inputs [2]string // of the objects a and b
		want            string
	}{
		"one after the other": {[2]string{fmt.Sprintf(gives, "x")}, [2]string{"", fmt.Sprintf(takes, "x")}, ""},
		"itself":              {[2]string{fmt.Sprintf(gives, "x")}, [2]string{fmt.Sprintf(takes, "x")}, "End/a -> End/a"},
		"each other": {
			[2]string{fmt.Sprintf(gives, "x"), fmt.Sprintf(gives, "y")},
			[2]string{fmt.Sprintf(takes, "y"), fmt.Sprintf(takes, "x")},
			"End/a -> End/b -> End/a",
		},
		"its own store": {
			[2]string{fmt.Sprintf(stores, "s")}, [2]string{fmt.Sprintf(loads, "s")}, "End/a -> Store/s -> End/a",
		},
		"another's store": {[2]string{"", fmt.Sprintf(stores, "s")}, [2]string{fmt.Sprintf(loads, "s")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ends := make([]end, 0, 2)
			for i, object := range []string{"a", "b"} {
				ends = append(ends, end{
					object:  unstructuredOf(t, `{"apiVersion":"v1","kind":"End","metadata":{"name":"`+object+`"}}`),
					outputs: read[[]oamv1alpha2.DataOutput](t, "["+c.outputs[i]+"]"),
					inputs:  read[[]oamv1alpha2.DataInput](t, "["+c.inputs[i]+"]"),
				})
			}
			outputs, err := outputsOf(ends)
			if err != nil {
				t.Fatal(err)
			}
			err = exchange{outputs: outputs}.checkOrder(ends)
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestSharedStore: outputs of two objects fill one store, which is written once.
func TestSharedStore(t *testing.T) {
	ends := make([]end, 0, 2)
	for _, name := range []string{"a", "b"} {
		ends = append(ends, end{
			object: unstructuredOf(t, `{"apiVersion":"v1","kind":"End","metadata":{"name":"`+name+`"}}`),
			outputs: read[[]oamv1alpha2.DataOutput](t, `[{outputStore: {apiVersion: v1, kind: ConfigMap, name: store,
				operations: [{type: jsonPatch, op: add, toFieldPath: data.`+name+`, valueFrom: {fieldPath: metadata.name}}]}}]`),
		})
	}
	x := exchange{live: func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }}
	stores, unsatisfied, err := x.storesOf(ends)
	if err != nil || len(stores) != 1 || len(unsatisfied) != 0 {
		t.Fatalf("stores %v, unsatisfied %v, error %v", stores, unsatisfied, err)
	}
	if diff := cmp.Diff(map[string]any{"a": "a", "b": "b"}, stores[0].Object["data"]); diff != "" {
		t.Errorf("data of the store (-want +got):\n%s", diff)
	}
}

// TestUnsatisfiedStore: a store whose value is missing is neither applied nor deleted.
func TestUnsatisfiedStore(t *testing.T) {
	ends := []end{{
		object: unstructuredOf(t, `{"apiVersion":"v1","kind":"End","metadata":{"name":"a","namespace":"team"}}`),
		outputs: read[[]oamv1alpha2.DataOutput](t, `[{outputStore: {apiVersion: v1, kind: ConfigMap, name: store,
			operations: [{type: jsonPatch, op: add, toFieldPath: data.key, valueFrom: {fieldPath: status.key}}]}}]`),
	}}
	p := &applicationPass{ApplicationConfiguration: &oamv1alpha2.ApplicationConfiguration{}}
	p.Namespace = "team"
	x := exchange{live: func(u *unstructured.Unstructured) *unstructured.Unstructured { return u }}
	if err := new(applicationReconciler).exchange(p, x, ends); err != nil {
		t.Fatal(err)
	}
	want := []object.ID{{Kind: "ConfigMap", Namespace: "team", Name: "store"}}
	if diff := cmp.Diff(want, p.skip); diff != "" {
		t.Errorf("objects that are not applied (-want +got):\n%s", diff)
	}
}
