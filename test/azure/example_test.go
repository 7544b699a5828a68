package azure_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestExample applies the example in its wrong order. Nothing is refused, each resource is created by one
// PUT, and the group takes all along.
func TestExample(t *testing.T) {
	w := newWorld(t)
	all := make([]*unstructured.Unstructured, 0, 12)
	for _, file := range []string{"stack", "group"} {
		all = append(all, testenv.ApplyFile(t, "../../examples/azure/"+file+".yaml", testenv.In(w.NS))...)
	}
	names := make([]string, 0, len(all))
	for _, u := range all {
		names = append(names, typeOf(u)+":"+u.GetName())
	}
	w.ready(names...)
	if puts := w.cloud.CallCount("PUT"); puts != len(all) {
		t.Errorf("%d PUTs for %d resources", puts, len(all))
	}
	if calls := w.cloud.CallCount(""); calls > 3*len(all) {
		t.Errorf("%d requests beside polls for %d resources", calls, len(all))
	}
	rules, _, _ := unstructured.NestedSlice(w.get("lb", "entrance").Object,
		"status", "resource", "properties", "loadBalancingRules")
	probe, _, _ := unstructured.NestedString(rules[0].(map[string]any), "properties", "probe", "id")
	if want := w.id("lb/entrance").String() + "/probes/http"; probe != want {
		t.Errorf("the rule has the probe %q, want %q", probe, want)
	}
	w.resetCalls()
	w.delete("rg/shop")
	w.gone(names...)
	w.inCloud()
	w.noneRefused()
	if n := w.cloud.CallCount("DELETE"); n != 1 {
		t.Errorf("%d DELETEs, want 1", n)
	}
}

// typeOf returns the ARM type of an object.
func typeOf(u *unstructured.Unstructured) string { return all().Find(u.GroupVersionKind()).Type }
