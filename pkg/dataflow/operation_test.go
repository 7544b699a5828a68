package dataflow

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestOperate: each case applies one operation to one ConfigMap.
func TestOperate(t *testing.T) {
	const before = `{"data":{"a":"x","json":"{\"b\":[1,2]}","text":"no json"},"spec":{"list":["u","v"]}}`
	cases := map[string]struct {
		operation      Operation
		want           string // the data, or empty for no change
		reason, failed string
	}{
		"a text": {Operation{Operator: Add, ToFieldPath: "data.a", Value: `"y"`}, `{"a":"y"`, "", ""},
		"a new field, replaced": {
			Operation{Operator: Replace, ToFieldPath: "data.c", Value: `"y"`}, `"c":"y"`, "", "",
		},
		"a value of the other object": {
			Operation{Operator: Add, ToFieldPath: "data.a", ValueFrom: "status.key", Value: "unused"}, `{"a":"k"`, "", "",
		},
		"a missing value": {
			Operation{Operator: Add, ToFieldPath: "data.a", ValueFrom: "status.none"}, "", "status.none not found in object", "",
		},
		"no path of the value": {
			Operation{Operator: Add, ToFieldPath: "data.a", ValueFrom: "a..b"}, "", "", "op.valueFrom: ",
		},
		"no JSON": {
			Operation{Operator: Add, ToFieldPath: "data.a", Value: "y"},
			"", "",
			`op.value: "y" is no JSON: quote a text, as in '"text"'`,
		},
		"delete a field": {
			Operation{Operator: Delete, ToFieldPath: "data.a"}, `{"json":`, "", "",
		},
		"delete what is missing": {Operation{Operator: Delete, ToFieldPath: "data.none"}, "", "", ""},
		"delete needs no value": {
			Operation{Operator: Delete, ToFieldPath: "data.a", Value: "no JSON", ValueFrom: "status.none"}, `{"json":`, "", "",
		},
		"into JSON": {
			Operation{Operator: Add, ToFieldPath: "data.json", ToDataPath: "c.d", Value: "1"},
			`"json":"{\"b\":[1,2],\"c\":{\"d\":1}}"`, "", "",
		},
		"into JSON that is not there": {
			Operation{Operator: Add, ToFieldPath: "data.new", ToDataPath: "c", Value: "true"}, `"new":"{\"c\":true}"`, "", "",
		},
		"out of JSON": {
			Operation{Operator: Delete, ToFieldPath: "data.json", ToDataPath: "b"}, `"json":"{}"`, "", "",
		},
		"out of JSON that is not there": {
			Operation{Operator: Delete, ToFieldPath: "data.new", ToDataPath: "c"}, "", "", "",
		},
		"an element out of JSON": {
			Operation{Operator: Delete, ToFieldPath: "data.json", ToDataPath: "b[0]"},
			"", "",
			`op: path "b[0]": only a field of an object can be removed`,
		},
		"into what is no JSON": {
			Operation{Operator: Add, ToFieldPath: "data.text", ToDataPath: "c", Value: "1"},
			"", "",
			"op.toDataPath: data.text holds no JSON object as text",
		},
		"into a list": {
			Operation{Operator: Add, ToFieldPath: "spec.list", ToDataPath: "c", Value: "1"},
			"", "",
			"op.toDataPath: spec.list holds no JSON object as text",
		},
		"no path into JSON": {
			Operation{Operator: Add, ToFieldPath: "data.json", ToDataPath: "a..b", Value: "1"}, "", "", "op.toDataPath: ",
		},
		"no operator": {
			Operation{Operator: "move", ToFieldPath: "data.a", Value: "1"},
			"", "",
			`op.op: there is no operator "move": use add, replace or delete`,
		},
		"no operator in JSON": {
			Operation{Operator: "move", ToFieldPath: "data.json", ToDataPath: "b", Value: "1"},
			"", "",
			`op.op: there is no operator "move"`,
		},
		"a fixed field": {
			Operation{Operator: Delete, ToFieldPath: "metadata.ownerReferences"},
			"", "",
			"op.toFieldPath: metadata.ownerReferences can't be set by a path",
		},
		"the name": {
			Operation{Operator: Add, ToFieldPath: "metadata.name", Value: `"other"`},
			"", "",
			"op.toFieldPath: metadata.name can't be set by a value of another object",
		},
		"under a condition that does not hold": {
			Operation{
				Operator: Add, ToFieldPath: "data.a", Value: `"y"`,
				Conditions: []Condition{{Operator: Equal, FieldPath: "status.key", Value: "l"}},
			}, "", "got(k) expected to be l", "",
		},
		"under a wrong condition": {
			Operation{Operator: Add, ToFieldPath: "data.a", Value: `"y"`, Conditions: []Condition{{Operator: "is"}}},
			"", "", `op, condition 0: there is no operator "is"`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.operation.Field = "op"
			into, from := unstructuredOf(t, before), map[string]any{"status": map[string]any{"key": "k"}}
			reason, err := run{Flow: &Flow{}}.operate(into, from, []Operation{c.operation})
			if _, ok := errors.AsType[*relation.FieldError](err); ok != (c.failed != "") ||
				(ok && !strings.HasPrefix(err.Error(), c.failed)) || reason != c.reason {
				t.Fatalf("reason %q, error %v; want %q, %q", reason, err, c.reason, c.failed)
			}
			if c.want == "" {
				if diff := cmp.Diff(unstructuredOf(t, before).Object, into.Object); diff != "" {
					t.Errorf("the object was changed (-want +got):\n%s", diff)
				}
				return
			}
			data, err := json.Marshal(into.Object["data"])
			if err != nil || !strings.Contains(string(data), c.want) {
				t.Errorf("the data are %s, want %s in them; %v", data, c.want, err)
			}
		})
	}
}

// TestOperateInOrder: the second operation sees the result of the first, and none follows one that lacks a value.
func TestOperateInOrder(t *testing.T) {
	into, from := unstructuredOf(t, `{"data":{}}`), map[string]any{}
	add := func(path, value, valueFrom string) Operation {
		return Operation{Operator: Add, ToFieldPath: "data.j", ToDataPath: path, Value: value, ValueFrom: valueFrom}
	}
	all := []Operation{add("a", "1", ""), add("b", "2", ""), add("c", "", "none"), add("d", "4", "")}
	reason, err := run{Flow: &Flow{}}.operate(into, from, all)
	if reason != "none not found in object" || err != nil {
		t.Errorf("reason %q, error %v", reason, err)
	}
	if diff := cmp.Diff(map[string]any{"j": `{"a":1,"b":2}`}, into.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}

// TestAddAndDelete: a deletion undoes an addition, with a field of the object and with a field of JSON in a text,
// and what the caller had before is never changed.
func TestAddAndDelete(t *testing.T) {
	name := rapid.StringMatching("[a-c]{1,2}")
	rapid.Check(t, func(t *rapid.T) {
		path := relation.MustPath("data." + name.Draw(t, "field"))
		content := map[string]any{"data": map[string]any{"zz": "stays"}}
		toData := rapid.SampledFrom([]string{"", "x", "x.y"}).Draw(t, "toDataPath")
		value := rapid.SampledFrom([]any{"t", int64(1), true}).Draw(t, "value")
		add := Operation{Operator: Add, ToDataPath: toData}
		r := run{Flow: &Flow{}}
		added, err := r.editField(content, path, add, value)
		if err != nil {
			t.Fatal(err)
		}
		if len(path.Values(added)) != 1 {
			t.Fatalf("nothing was added: %v", added)
		}
		add.Operator, add.ToDataPath = Delete, ""
		removed, err := r.editField(added, path, add, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"data": map[string]any{"zz": "stays"}}
		if diff := cmp.Diff([]any{want, want}, []any{removed, content}); diff != "" {
			t.Fatalf("after, and the caller's (-want +got):\n%s", diff)
		}
	})
}

// TestStoreLacks: a store that lacks a value of one of two objects is held, with the reason and both objects.
func TestStoreLacks(t *testing.T) {
	add := func(path string) Operation { return Operation{Operator: Add, ToFieldPath: "data.key", ValueFrom: path} }
	for name, c := range map[string]struct {
		cluster map[string]string
		output  Output
		reason  string
		failed  string
	}{
		"no source": {nil, Output{Store: configMap(add("status.key"))}, "End a does not exist", ""},
		"no value": {
			map[string]string{"a": `{"kind":"End"}`},
			Output{Store: configMap(add("status.key"))},
			"status.key not found in object", "",
		},
		"no consent": {map[string]string{"a": `{"kind":"End","status":{"key":"v"}}`}, Output{
			Store: configMap(add("status.key")), Conditions: []Condition{{Operator: Equal, FieldPath: "status.key", Value: "w"}},
		}, "got(v) expected to be w", ""},
		"another's source": {
			map[string]string{"a": `{"kind":"End","metadata":{"labels":{"owner":"other"}},"status":{"key":"v"}}`},
			Output{Store: configMap(add("status.key"))},
			"End a does not exist", "",
		},
		"a wrong operation": {
			map[string]string{"a": `{"kind":"End"}`},
			Output{Store: configMap(Operation{Operator: Add, Value: "1"})},
			"",
			"toFieldPath",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := flowOf(t, c.cluster, Node{Object: end(t, "a"), Outputs: []Output{c.output}}).Run()
			if c.failed != "" {
				if err == nil || !strings.Contains(err.Error(), c.failed) || result.Stores != nil {
					t.Errorf("error %v, want %q; result %v", err, c.failed, result)
				}
				return
			}
			if err != nil || len(result.Missing) != 1 {
				t.Fatalf("missing %v, error %v", result.Missing, err)
			}
			m := result.Missing[0]
			isStore := m.To.GetName() == "store" && m.FromField == "" && m.ToFields == nil
			if m.Reason != c.reason || m.From.GetName() != "a" || !isStore {
				t.Errorf("missing is %+v, want %q", m, c.reason)
			}
			want := []object.ID{{Kind: "ConfigMap", Namespace: "team", Name: "store"}}
			if diff := cmp.Diff(want, result.Held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}
