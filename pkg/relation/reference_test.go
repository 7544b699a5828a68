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

// TestReferencePathAt: the declarer names the path to its own reference. A path that can't be read, or that
// is no text, names no target.
func TestReferencePathAt(t *testing.T) {
	secret := schema.GroupKind{Kind: "Secret"}
	r := relation.Reference{
		Declarer: schema.GroupKind{Group: "x", Kind: "Thing"}, Target: secret, PathAt: relation.MustPath("spec.fields[*]"),
	}.Relation()
	if r.Field != "spec.fields[*]" {
		t.Errorf("the field of the relation is %q", r.Field)
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "thing", "namespace": "here"},
		"spec": map[string]any{
			"fields": []any{"data.one", "data..two", int64(3), "data.none", "data.more[*]"},
			"data":   map[string]any{"one": "never"},
		},
		"data": map[string]any{"one": "first", "more": []any{"second", "third"}},
	}}
	edges := r.Extract(obj, served{secret: true})
	got := make([]string, 0, len(edges))
	for _, e := range edges {
		got = append(got, e.Field+" "+e.Target.Name)
	}
	if diff := cmp.Diff([]string{"data.one first", "data.more[0] second", "data.more[1] third"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReferenceNamespace: a cluster-scoped declarer has no namespace of its own, so that only a reference
// with a namespace names a namespaced target.
func TestReferenceNamespace(t *testing.T) {
	secret, node := schema.GroupKind{Kind: "Secret"}, schema.GroupKind{Kind: "Node"}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "thing"},
		"spec":     map[string]any{"refs": []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "ns": "there"}}},
	}}
	for _, c := range []struct {
		target    schema.GroupKind
		namespace string
		want      []string
	}{
		{secret, "ns", []string{"Secret/there/b"}}, {secret, "", []string{}}, {node, "ns", []string{"Node//a", "Node//b"}},
	} {
		r := relation.Reference{
			Declarer: schema.GroupKind{Group: "x", Kind: "Thing"}, Target: c.target,
			Path: relation.MustPath("spec.refs[*].name"), Namespace: c.namespace,
		}.Relation()
		edges := r.Extract(obj, served{secret: true, node: false})
		got := make([]string, 0, len(edges))
		for _, e := range edges {
			got = append(got, e.Target.Key())
		}
		if diff := cmp.Diff(c.want, got); diff != "" || r.Across != (c.namespace != "") {
			t.Errorf("%s, namespace in %q: across is %t (-want +got):\n%s", c.target, c.namespace, r.Across, diff)
		}
	}
}

// TestReferenceGroup: a reference by kind names its group by apiVersion, by apiGroup or by group. The
// apiVersion wins, and without any the kind is of the core group.
func TestReferenceGroup(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion=apps/v1":          "apps",
		"apiVersion=v1":               "",
		"apiGroup=apps":               "apps",
		"group=apps":                  "apps",
		"apiGroup=apps group=x":       "apps",
		"apiVersion=v1 apiGroup=apps": "",
		"":                            "",
	} {
		ref := map[string]any{"kind": "Thing", "name": "a"}
		for field := range strings.FieldsSeq(text) {
			name, value, _ := strings.Cut(field, "=")
			ref[name] = value
		}
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "d"}, "ref": ref}}
		r := relation.Reference{Path: relation.MustPath("ref"), Form: relation.ByKind}.Relation()
		kinds := served{{Group: "apps", Kind: "Thing"}: false, {Group: "x", Kind: "Thing"}: false, {Kind: "Thing"}: false}
		edges := r.Extract(obj, kinds)
		if len(edges) != 1 || edges[0].Target.Group != want {
			t.Errorf("%q names %v, want group %q", text, edges, want)
		}
	}
}

// TestReferenceSelects: a value that is no LabelSelector selects nothing, never everything.
func TestReferenceSelects(t *testing.T) {
	pod := schema.GroupKind{Kind: "Pod"}
	for name, selector := range map[string]any{
		"a text": "app=web", "a list": []any{}, "an unknown field": map[string]any{"matchLabel": map[string]any{"a": "b"}},
		"an unknown operator": map[string]any{"matchExpressions": []any{map[string]any{"key": "a", "operator": "Near"}}},
		"a number":            map[string]any{"matchLabels": map[string]any{"a": int64(1)}},
	} {
		obj := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "d", "namespace": "here"}, "selector": selector,
		}}
		r := relation.Reference{Path: relation.MustPath("selector"), Form: relation.BySelector, Target: pod}.Relation()
		if edges := r.Extract(obj, served{pod: true}); len(edges) > 0 {
			t.Errorf("%s: %v", name, edges)
		}
	}
}
