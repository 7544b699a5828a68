package dataflow

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

func unstructuredOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// flowOf returns a flow of some nodes, whose objects the cluster has as text says, by their names.
func flowOf(t *testing.T, cluster map[string]string, nodes ...Node) *Flow {
	t.Helper()
	return &Flow{
		Field: "flow", Nodes: nodes,
		Owner: unstructuredOf(t, `{"kind":"App","metadata":{"labels":{"app-hash":"hash-v2"}}}`),
		Read: func(of *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			text := cluster[of.GetName()]
			if text == "" {
				return nil, nil
			}
			return unstructuredOf(t, text), nil
		},
		IsOwn: func(found *unstructured.Unstructured) bool { return found.GetLabels()["owner"] != "other" },
	}
}

func end(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return unstructuredOf(t, `{"apiVersion":"v1","kind":"End","metadata":{"name":"`+name+`","namespace":"team"}}`)
}

// TestValue passes one value, under conditions.
func TestValue(t *testing.T) {
	key, toKey := Output{FieldPath: "status.key"}, Input{ToFieldPaths: []string{"spec.key"}}
	into := func(path string) Input { return Input{ToFieldPaths: []string{path}} }
	under := func(conditions ...Condition) Output { return Output{FieldPath: "status.key", Conditions: conditions} }
	for name, c := range map[string]struct {
		source              string
		output              Output
		input               Input
		want, reason, fails string
	}{
		"a value":        {`{"status":{"key":"v"}}`, key, toKey, `"key":"v"`, "", ""},
		"a number":       {`{"status":{"key":7}}`, key, toKey, `"key":7`, "", ""},
		"no source":      {"", key, toKey, "", "Source o does not exist", ""},
		"another's":      {`{"metadata":{"labels":{"owner":"other"}},"status":{"key":"v"}}`, key, toKey, "", "Source o does not exist", ""},
		"no value":       {`{"status":{}}`, key, toKey, "", "status.key not found in object", ""},
		"an empty value": {`{"status":{"key":""}}`, key, toKey, "", "status.key is empty", ""},
		"equal to the owner": {
			`{"status":{"key":"v","hash":"hash-v1"}}`,
			under(Condition{Operator: Equal, FieldPath: "status.hash", ValueFrom: "metadata.labels.app-hash"}),
			toKey, "", "got(hash-v1) expected to be hash-v2", "",
		},
		"not in the owner": {
			`{"status":{"key":"v"}}`, under(Condition{Operator: Equal, ValueFrom: "metadata.labels.none"}),
			toKey, "", "metadata.labels.none not found in the App", "",
		},
		"an equal number": {
			`{"status":{"key":"v","observedGeneration":1}}`,
			under(Condition{Operator: Equal, FieldPath: "status.observedGeneration", Value: "1"}), toKey, `"key":"v"`, "", "",
		},
		"not equal": {
			`{"status":{"key":"v"}}`, under(Condition{Operator: NotEqual, Value: "v"}),
			toKey, "", "got(v) expected not to be v", "",
		},
		"not empty": {
			`{"status":{"key":[]}}`, under(Condition{Operator: NotEmpty}), toKey, "", "value should not be empty", "",
		},
		"a sink that is not ready": {
			`{"status":{"key":"v"}}`, key,
			Input{ToFieldPaths: []string{"spec.key"}, Conditions: []Condition{{Operator: Equal, FieldPath: "spec.text", Value: "u"}}},
			"", "got(t) expected to be u", "",
		},
		"appended": {`{"status":{"key":["y"]}}`, key, into("spec.list"), `"list":["x","y"]`, "", ""},
		"a list into a text": {
			`{"status":{"key":["y"]}}`, key, into("spec.text"), "", "",
			"in.toFieldPaths[0]: spec.text is a string, and the value is a list",
		},
		"a far element": {`{"status":{"key":"v"}}`, key, into("spec.list[4000000000]"), "", "", "is beyond"},
		"a deep path": {
			`{"status":{"key":"v"}}`, key, into("a" + strings.Repeat(".a", 200)), "", "", "has more than 32 steps",
		},
		"an owner": {
			`{"status":{"key":"v"}}`, key, into("metadata.ownerReferences[0].uid"), "", "",
			"metadata.ownerReferences can't be set by a path",
		},
		"a name": {
			`{"status":{"key":"v"}}`, key, into("metadata.name"), "", "", "metadata.name can't be set by a value of another",
		},
		"no operator": {
			`{"status":{"key":"v"}}`, under(Condition{Operator: "like"}), toKey, "", "", `there is no operator "like"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			const sink = `{"apiVersion":"v1","kind":"Sink","metadata":{"name":"s"},"spec":{"list":["x"],"text":"t"}}`
			c.output.Name, c.input.Output, c.input.Field = "out", "out", "in"
			cluster := map[string]string{"s": sink}
			if c.source != "" {
				cluster["o"] = `{"kind":"Source",` + c.source[1:]
			}
			to := Node{Object: unstructuredOf(t, sink), Inputs: []Input{c.input}}
			from := Node{
				Object:  unstructuredOf(t, `{"apiVersion":"v1","kind":"Source","metadata":{"name":"o"}}`),
				Outputs: []Output{c.output},
			}
			result, err := flowOf(t, cluster, from, to).Run()
			if c.fails != "" {
				wrong, ok := errors.AsType[*relation.FieldError](err)
				if !ok || !strings.Contains(wrong.Error(), c.fails) {
					t.Fatalf("error %v, want a FieldError with %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			for _, m := range result.Missing {
				reason += m.Reason
			}
			if diff := cmp.Diff(c.reason, reason); diff != "" {
				t.Errorf("reason (-want +got):\n%s", diff)
			}
			if isHeld := len(result.Held) == 1 && result.Held[0].Name == "s"; isHeld != (c.reason != "") {
				t.Errorf("held are %v", result.Held)
			}
			if text, _ := to.Object.MarshalJSON(); !strings.Contains(string(text), c.want) {
				t.Errorf("the object is %s, want %s in it", text, c.want)
			}
		})
	}
}

// TestUnread returns the error of Flow.Read.
func TestUnread(t *testing.T) {
	f := flowOf(t, nil, Node{Object: end(t, "a"), Outputs: []Output{{Name: "x", FieldPath: "status"}}},
		Node{Object: end(t, "b"), Inputs: []Input{{Output: "x", ToFieldPaths: []string{"spec.key"}}}})
	want := errors.New("no answer")
	f.Read = func(*unstructured.Unstructured) (*unstructured.Unstructured, error) { return nil, want }
	if _, err := f.Run(); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// TestOrder: objects that wait for values of each other are refused, in a store too.
func TestOrder(t *testing.T) {
	gives := func(name string) []Output { return []Output{{Name: name, FieldPath: "status.key"}} }
	takes := func(name string) []Input { return []Input{{Output: name, ToFieldPaths: []string{"spec.key"}}} }
	store := &Store{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Store"}, Name: "s"}
	stores, loads := []Output{{Store: store}}, []Input{{Store: store}}
	for name, c := range map[string]struct {
		a, b Node
		want string
	}{
		"one after the other": {Node{Outputs: gives("x")}, Node{Inputs: takes("x")}, ""},
		"itself":              {Node{Outputs: gives("x"), Inputs: takes("x")}, Node{}, "End/a in namespace team -> End/a"},
		"each other": {
			Node{Outputs: gives("x"), Inputs: takes("y")},
			Node{Outputs: gives("y"), Inputs: takes("x")},
			"End/a in namespace team -> End/b in namespace team -> End/a",
		},
		"its own store":   {Node{Outputs: stores, Inputs: loads}, Node{}, "End/a in namespace team -> Store/s in namespace team -> End/a"},
		"another's store": {Node{Inputs: loads}, Node{Outputs: stores}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.a.Object, c.b.Object = end(t, "a"), end(t, "b")
			_, err := flowOf(t, nil, c.a, c.b).Run()
			if (err == nil) != (c.want == "") || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestNames: an output has a name of its own, and an input names an output.
func TestNames(t *testing.T) {
	out := Output{Field: "out", Name: "x", FieldPath: "status"}
	for want, nodes := range map[string][]Node{
		"out.name: another output is called x too": {{Outputs: []Output{out}}, {Outputs: []Output{out}}},
		`in: there is no output "x"`:               {{Inputs: []Input{{Field: "in", Output: "x"}}}},
	} {
		for i := range nodes {
			nodes[i].Object = end(t, string(rune('a'+i)))
		}
		if _, err := flowOf(t, nil, nodes...).Run(); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func configMap(operations ...Operation) *Store {
	return &Store{
		GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "store", Operations: operations,
	}
}

// TestSharedStore: outputs of two objects fill one store.
func TestSharedStore(t *testing.T) {
	nodes := make([]Node, 0, 2)
	cluster := map[string]string{}
	for _, name := range []string{"a", "b"} {
		cluster[name] = `{"kind":"End","metadata":{"name":"` + name + `"}}`
		nodes = append(nodes, Node{Object: end(t, name), Outputs: []Output{{Store: configMap(
			Operation{Operator: Add, ToFieldPath: "data." + name, ValueFrom: "metadata.name"},
		)}}})
	}
	result, err := flowOf(t, cluster, nodes...).Run()
	if err != nil || len(result.Stores) != 1 || len(result.Missing) != 0 {
		t.Fatalf("stores %v, missing %v, error %v", result.Stores, result.Missing, err)
	}
	if diff := cmp.Diff(map[string]any{"a": "a", "b": "b"}, result.Stores[0].Object["data"]); diff != "" {
		t.Errorf("data of the store (-want +got):\n%s", diff)
	}
	if got := nodes[0].Creates(); len(got) != 1 || got[0].Kind != "ConfigMap" {
		t.Errorf("the node creates %v", got)
	}
}

// TestStore: values of a store are written into an object, also if another owner has the store. A store or an
// object that lacks a value is held.
func TestStore(t *testing.T) {
	out := Node{Object: end(t, "a"), Outputs: []Output{{Store: configMap(
		Operation{Operator: Add, ToFieldPath: "data.key", ValueFrom: "status.key"},
	)}}}
	from := &Store{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "source"}
	from.Operations = []Operation{{Operator: Add, ToFieldPath: "spec.key", ValueFrom: "data.key"}}
	in := Node{Object: end(t, "b"), Inputs: []Input{{Store: from}}}
	result, err := flowOf(t, map[string]string{"a": `{"kind":"End"}`}, out, in).Run()
	if err != nil {
		t.Fatal(err)
	}
	want := []object.ID{
		{Kind: "End", Namespace: "team", Name: "b"}, {Kind: "ConfigMap", Namespace: "team", Name: "store"},
	}
	if diff := cmp.Diff(want, result.Held); diff != "" {
		t.Errorf("held objects (-want +got):\n%s", diff)
	}
	if m := result.Missing[0]; m.Reason != "ConfigMap source does not exist" || m.From.GetName() != "source" {
		t.Errorf("missing is %+v", m)
	}
	cluster := map[string]string{
		"a":      `{"kind":"End","status":{"key":"v"}}`,
		"source": `{"kind":"ConfigMap","metadata":{"labels":{"owner":"other"}},"data":{"key":"w"}}`,
	}
	if result, err = flowOf(t, cluster, out, in).Run(); err != nil || len(result.Held) != 0 {
		t.Fatalf("held are %v, error %v", result.Held, err)
	}
	if got, _, _ := unstructured.NestedString(in.Object.Object, "spec", "key"); got != "w" {
		t.Errorf("spec.key is %q, want the value of the store", got)
	}
	kinds := append(out.Reads(), in.Reads()...)
	if len(kinds) != 2 || kinds[0].Kind != "End" || kinds[1].Kind != "ConfigMap" {
		t.Errorf("the nodes read %v", kinds)
	}
}

// FuzzOperate changes an object by any operation: a reason, an error, or an object of the same kind,
// namespace and owner.
func FuzzOperate(f *testing.F) {
	f.Add(Add, "data", "", "{}", "", "spec.a")
	f.Add(Delete, "metadata.labels", "", "", "spec.a", "spec.a[0].b")
	f.Add(Add, "data.a", "b[3].c", "1", "", "spec")
	f.Fuzz(func(t *testing.T, operator, to, data, value, valueFrom, path string) {
		into := unstructuredOf(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"s","namespace":"n",
			"ownerReferences":[{"uid":"u"}]},"data":{"a":"{}"}}`)
		from := map[string]any{"spec": map[string]any{"a": []any{map[string]any{"b": "v"}}}}
		r := run{Flow: &Flow{}}
		one := Operation{Operator: operator, ToFieldPath: to, ToDataPath: data, Value: value, ValueFrom: valueFrom}
		if _, err := r.operate(into, from, []Operation{one, one}); err != nil {
			return
		}
		if into.GetKind() != "ConfigMap" || into.GetNamespace() != "n" || len(into.GetOwnerReferences()) != 1 {
			t.Errorf("the object is %v", into.Object)
		}
		sink := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
		_ = r.write(sink, "f", path, "v") // It must not panic.
	})
}
