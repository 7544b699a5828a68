package dataflow

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// gives and takes make a node with one output or input, named after the object that gives.
func gives(t *testing.T, name string) Node {
	t.Helper()
	return Node{Object: end(t, name), Outputs: []Output{{Field: "out", Name: name, FieldPath: "status.key"}}}
}

func takes(t *testing.T, name string, from ...string) Node {
	t.Helper()
	n := Node{Object: end(t, name)}
	for _, other := range from {
		n.Inputs = append(n.Inputs,
			Input{Field: "in", Output: other, ToFieldPaths: []string{"spec." + other, "data." + other}})
	}
	return n
}

// TestHeld: an object with one of two values is held, the other objects are not, and each value that is missing is
// reported with its fields.
func TestHeld(t *testing.T) {
	cluster := map[string]string{"a": `{"kind":"End","status":{"key":"v"}}`, "b": `{"kind":"End"}`}
	lacks, has := takes(t, "lacks", "a", "b", "c"), takes(t, "has", "a")
	result, err := flowOf(t, cluster, lacks, has, gives(t, "a"), gives(t, "b"), gives(t, "c")).Run()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]object.ID{{Kind: "End", Namespace: "team", Name: "lacks"}}, result.Held); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	got := make([]string, 0, len(result.Missing))
	for _, m := range result.Missing {
		to := strings.Join(m.ToFields, ",")
		got = append(got, m.From.GetName()+" "+m.FromField+" -> "+m.To.GetName()+" "+to+": "+m.Reason)
	}
	want := []string{
		"b status.key -> lacks spec.b,data.b: status.key not found in object",
		"c status.key -> lacks spec.c,data.c: End c does not exist",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	for _, path := range []string{"spec.a", "data.a"} {
		if value, _, _ := one(has.Object.Object, path, "f"); value != "v" {
			t.Errorf("%s is %v, want v", path, value)
		}
	}
}

// TestChain: a value is taken from the object in the cluster, and not from an object that this run has filled.
func TestChain(t *testing.T) {
	a, b, c := gives(t, "a"), takes(t, "b", "a"), takes(t, "c", "b")
	b.Outputs = []Output{{Name: "b", FieldPath: "spec.a"}}
	cluster := map[string]string{"a": `{"kind":"End","status":{"key":"new"}}`, "b": `{"kind":"End","spec":{"a":"old"}}`}
	if result, err := flowOf(t, cluster, a, b, c).Run(); err != nil || len(result.Missing) > 0 {
		t.Fatalf("missing %v, error %v", result.Missing, err)
	}
	for path, of := range map[string]*unstructured.Unstructured{"spec.a": b.Object, "spec.b": c.Object} {
		want := map[string]string{"spec.a": "new", "spec.b": "old"}[path]
		if value, _, _ := one(of.Object, path, "f"); value != want {
			t.Errorf("%s is %v, want %s", path, value, want)
		}
	}
}

// TestReadOnce: each object is read once, also an object that does not exist.
func TestReadOnce(t *testing.T) {
	f := flowOf(t, map[string]string{"a": `{"kind":"End","status":{"key":"v"}}`},
		gives(t, "a"), gives(t, "none"), takes(t, "b", "a", "none"), takes(t, "c", "a", "none"))
	reads, read := map[string]int{}, f.Read
	f.Read = func(of *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		reads[of.GetName()]++
		return read(of)
	}
	if _, err := f.Run(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"a": 1, "none": 1}, reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// TestFlowBudget: all values of one flow together are bounded.
func TestFlowBudget(t *testing.T) {
	for budget, fits := range map[int]bool{400: true, 150: false} {
		f := flowOf(t, map[string]string{"a": `{"kind":"End","status":{"key":"` + strings.Repeat("v", 50) + `"}}`},
			gives(t, "a"), takes(t, "b", "a"), takes(t, "c", "a"))
		f.Budget = relation.NewBudget(budget)
		_, err := f.Run()
		if (err == nil) != fits || (err != nil && !strings.HasPrefix(err.Error(), "in.toFieldPaths[")) {
			t.Errorf("a budget of %d: %v", budget, err)
		}
	}
}

// TestSink: the conditions of an input are about the object in the cluster; without the object, they hold.
func TestSink(t *testing.T) {
	const source = `{"kind":"End","status":{"key":"v"}}`
	condition := Condition{Operator: Equal, FieldPath: "status.phase", Value: "Open"}
	for name, c := range map[string]struct{ sink, reason string }{
		"does not exist": {"", ""},
		"is another's":   {`{"kind":"End","metadata":{"labels":{"owner":"other"}},"status":{"phase":"Shut"}}`, ""},
		"holds":          {`{"kind":"End","status":{"phase":"Open"}}`, ""},
		"does not hold":  {`{"kind":"End","status":{"phase":"Shut"}}`, "got(Shut) expected to be Open"},
		"has no value":   {`{"kind":"End"}`, "status.phase not found in object"},
	} {
		t.Run(name, func(t *testing.T) {
			b := takes(t, "b", "a")
			b.Inputs[0].Conditions = []Condition{condition}
			cluster := map[string]string{"a": source}
			if c.sink != "" {
				cluster["b"] = c.sink
			}
			result, err := flowOf(t, cluster, gives(t, "a"), b).Run()
			if err != nil {
				t.Fatal(err)
			}
			reason := ""
			for _, m := range result.Missing {
				reason += m.Reason
			}
			value, _, _ := one(b.Object.Object, "spec.a", "f")
			if reason != c.reason || (value == "v") != (c.reason == "") {
				t.Errorf("reason %q, want %q; spec.a is %v", reason, c.reason, value)
			}
		})
	}
}

// TestWrite: a value is written in place of a value of the same shape.
func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		present, value any
		want           any
		failed         string
	}{
		"a text":                 {"x", "y", "y", ""},
		"a number for a text":    {"x", int64(1), int64(1), ""},
		"an object":              {map[string]any{"a": "b"}, map[string]any{"c": "d"}, map[string]any{"c": "d"}, ""},
		"an object for null":     {nil, map[string]any{"c": "d"}, map[string]any{"c": "d"}, ""},
		"a list for null":        {nil, []any{"y"}, []any{"y"}, ""},
		"an element":             {[]any{"x"}, "y", []any{"x", "y"}, ""},
		"an object as element":   {[]any{}, map[string]any{"a": "b"}, []any{map[string]any{"a": "b"}}, ""},
		"elements":               {[]any{"x"}, []any{"y", "z"}, []any{"x", "y", "z"}, ""},
		"an object for a text":   {"x", map[string]any{}, nil, "f: spec.a is a string, and the value is an object"},
		"a text for an object":   {map[string]any{}, "x", nil, "f: spec.a is an object, and the value is a string"},
		"a list for an object":   {map[string]any{}, []any{}, nil, "f: spec.a is an object, and the value is a list"},
		"an object for a number": {int64(1), map[string]any{}, nil, "f: spec.a is a number, and the value is an object"},
		"an object for true":     {true, map[string]any{}, nil, "f: spec.a is a boolean, and the value is an object"},
	} {
		t.Run(name, func(t *testing.T) {
			into := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"a": c.present}}}
			err := run{Flow: &Flow{}}.write(into, "f", "spec.a", c.value)
			if (err == nil) != (c.failed == "") || (err != nil && err.Error() != c.failed) {
				t.Fatalf("error %v, want %q", err, c.failed)
			}
			if c.failed != "" {
				c.want = c.present
			}
			if diff := cmp.Diff(c.want, into.Object["spec"].(map[string]any)["a"]); diff != "" {
				t.Errorf("spec.a (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNode: a node reads its own object for outputs, and creates and reads the stores.
func TestNode(t *testing.T) {
	kind := func(k string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "g", Version: "v1", Kind: k}
	}
	n := Node{
		Object:  end(t, "a"),
		Outputs: []Output{{Name: "x"}, {Store: &Store{GroupVersionKind: kind("Out"), Name: "o"}}},
		Inputs:  []Input{{Output: "y"}, {Store: &Store{GroupVersionKind: kind("In"), Name: "i"}}},
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{n.Object.GroupVersionKind(), kind("In")}, n.Reads()); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]schema.GroupVersionKind{kind("Out")}, n.Creates()); diff != "" {
		t.Errorf("creates (-want +got):\n%s", diff)
	}
	sources := n.Sources()
	if len(sources) != 1 || idOf(sources[0]) != (object.ID{Group: "g", Kind: "In", Namespace: "team", Name: "i"}) {
		t.Errorf("sources %v", sources)
	}
	n.Outputs = nil
	if got := n.Reads(); len(got) != 1 || got[0].Kind != "In" {
		t.Errorf("without outputs, the node reads %v", got)
	}
}
