package oam

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
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
