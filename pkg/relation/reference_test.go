package relation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// served are the kinds of a cluster, and whether their objects have a namespace.
type served map[schema.GroupKind]bool

func (s served) Mapping(gvk schema.GroupVersionKind) (watch.Mapping, error) {
	namespaced, ok := s[gvk.GroupKind()]
	if !ok {
		return watch.Mapping{}, &watch.KindError{Kind: gvk}
	}
	return watch.Mapping{Kind: gvk.Kind, Namespaced: namespaced}, nil
}

// TestReference extracts the edges of each Form from one object. Some of its references are
// empty, have another type, or name kinds that the cluster does not serve.
func TestReference(t *testing.T) {
	pod, secret := schema.GroupKind{Kind: "Pod"}, schema.GroupKind{Kind: "Secret"}
	class := schema.GroupKind{Group: "x", Kind: "Class"}
	kinds := served{pod: true, secret: true, class: false}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "x/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "thing", "namespace": "here"},
		"spec": map[string]any{
			"secrets": []any{
				map[string]any{"name": "one"},
				map[string]any{"name": "two", "namespace": "there", "optional": true},
				map[string]any{"name": ""},
				map[string]any{"name": int64(3)},
				"four",
			},
			"class":  "fast",
			"target": map[string]any{"apiVersion": "x/v1", "kind": "Class", "name": "slow"},
			"others": []any{
				map[string]any{"kind": "Secret", "name": "five", "namespace": "there"},
				map[string]any{"apiGroup": "x", "kind": "Class", "name": "six"},
				map[string]any{"kind": "Nowhere", "name": "seven"},
			},
			"labels":   map[string]any{"app": "web"},
			"none":     map[string]any{},
			"selector": map[string]any{"matchExpressions": []any{map[string]any{"key": "tier", "operator": "Exists"}}},
		},
	}}
	optional := func(_, holder map[string]any) bool { return holder["optional"] == true }
	for _, c := range []struct {
		reference relation.Reference
		want      string
	}{
		{
			relation.Reference{Path: relation.MustPath("spec.secrets[*].name"), Target: secret},
			"spec.secrets[0].name: Secret/one in namespace here, spec.secrets[1].name: Secret/two in namespace here",
		},
		{
			relation.Reference{Path: relation.MustPath("spec.secrets[*].name"), Target: secret, Namespace: "namespace"},
			"spec.secrets[0].name: Secret/one in namespace here, spec.secrets[1].name: Secret/two in namespace there",
		},
		{
			relation.Reference{Path: relation.MustPath("spec.secrets[*].name"), Target: secret, Only: optional},
			"spec.secrets[1].name: Secret/two in namespace here",
		},
		{relation.Reference{Path: relation.MustPath("spec.class"), Target: class}, "spec.class: Class.x/fast"},
		{relation.Reference{Path: relation.MustPath("spec.class"), Target: schema.GroupKind{Kind: "Nowhere"}}, ""},
		{relation.Reference{Path: relation.MustPath("spec.target"), Form: relation.ByKind}, "spec.target: Class.x/slow"},
		{relation.Reference{Path: relation.MustPath("spec.target"), Form: relation.ByKind, Target: secret}, ""},
		{
			relation.Reference{Path: relation.MustPath("spec.others[*]"), Form: relation.ByKind},
			"spec.others[0]: Secret/five in namespace here, spec.others[1]: Class.x/six",
		},
		{
			relation.Reference{Path: relation.MustPath("spec.labels"), Form: relation.ByLabels, Target: pod},
			"spec.labels: every Pod in namespace here that matches app=web",
		},
		{relation.Reference{Path: relation.MustPath("spec.none"), Form: relation.ByLabels, Target: pod}, ""},
		{
			relation.Reference{Path: relation.MustPath("spec.none"), Form: relation.BySelector, Target: pod},
			"spec.none: every Pod in namespace here that matches everything",
		},
		{
			relation.Reference{Path: relation.MustPath("spec.selector"), Form: relation.BySelector, Target: pod},
			"spec.selector: every Pod in namespace here that matches tier",
		},
		{relation.Reference{Path: relation.MustPath("spec.labels"), Form: relation.BySelector, Target: pod}, ""},
	} {
		c.reference.Declarer = schema.GroupKind{Group: "x", Kind: "Thing"}
		edges := c.reference.Relation().Extract(obj, kinds)
		got := make([]string, 0, len(edges))
		for _, e := range edges {
			got = append(got, fmt.Sprintf("%s: %s", e.Field, e.Target))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reference.Path, diff)
		}
	}
}

// TestReferenceTyped extracts from a typed object; the selector matches the object with the
// label.
func TestReferenceTyped(t *testing.T) {
	podKind := schema.GroupKind{Kind: "Pod"}
	r := relation.Reference{
		Name: "service-pods", Role: relation.Binding, Declarer: schema.GroupKind{Kind: "Service"},
		Path: relation.MustPath("spec.selector"), Form: relation.ByLabels, Target: podKind,
	}.Relation()
	edges := r.Extract(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "here"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}, served{podKind: true})
	if len(edges) != 1 {
		t.Fatalf("%v", edges)
	}
	for labels, want := range map[string]bool{"web": true, "db": false} {
		pod := relation.ObjectOf(podKind, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "p", Namespace: "here", Labels: map[string]string{"app": labels},
		}})
		if got := edges[0].Target.Matches(pod); got != want {
			t.Errorf("app=%s matches: %t", labels, got)
		}
	}
}
