package object_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/kinship-dev/kinship/pkg/object"
)

func TestText(t *testing.T) {
	cases := map[string]struct {
		id                 object.ID
		text, short, asKey string
	}{
		"cluster-scoped, with group": {
			id:    object.ID{Group: "eks.upbound.io", Kind: "Cluster", Name: "my-cluster"},
			text:  "Cluster.eks.upbound.io/my-cluster",
			short: "Cluster/my-cluster",
			asKey: "Cluster.eks.upbound.io//my-cluster",
		},
		"namespaced, core group": {
			id:    object.ID{Kind: "ConfigMap", Namespace: "n", Name: "b"},
			text:  "ConfigMap/b in namespace n",
			short: "ConfigMap/b",
			asKey: "ConfigMap/n/b",
		},
		"namespaced, with group": {
			id:    object.ID{Group: "apps", Kind: "Deployment", Namespace: "prod", Name: "web"},
			text:  "Deployment.apps/web in namespace prod",
			short: "Deployment/web",
			asKey: "Deployment.apps/prod/web",
		},
		"names nothing": {text: "no object", short: "no object", asKey: "//"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := []string{tc.id.String(), tc.id.Short(), tc.id.Key()}
			if diff := cmp.Diff([]string{tc.text, tc.short, tc.asKey}, got); diff != "" {
				t.Errorf("String, Short, Key (-want, +got):\n%s", diff)
			}
		})
	}
}

func TestVersionPlaysNoRole(t *testing.T) {
	one, two := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	one.SetAPIVersion("apps/v1beta1")
	two.SetAPIVersion("apps/v1")
	for _, obj := range []*unstructured.Unstructured{one, two} {
		obj.SetKind("Deployment")
		obj.SetName("web")
	}
	if a, b := mustFrom(t, one), mustFrom(t, two); a != b {
		t.Errorf("one object seen in two versions has two IDs: %v and %v", a, b)
	}
}

func TestOfAndFromObjectAgree(t *testing.T) {
	want := object.ID{Group: "apps", Kind: "Deployment", Namespace: "prod", Name: "web"}
	meta := metav1.ObjectMeta{Namespace: "prod", Name: "web"}
	typeMeta := metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}

	got := []object.ID{
		object.Of(&appsv1.Deployment{ObjectMeta: meta}, schema.GroupKind{Group: "apps", Kind: "Deployment"}),
		mustFrom(t, &appsv1.Deployment{TypeMeta: typeMeta, ObjectMeta: meta}),
		mustFrom(t, &metav1.PartialObjectMetadata{TypeMeta: typeMeta, ObjectMeta: meta}),
	}
	if diff := cmp.Diff([]object.ID{want, want, want}, got); diff != "" {
		t.Errorf("IDs (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff(types.NamespacedName{Namespace: "prod", Name: "web"}, want.NamespacedName()); diff != "" {
		t.Errorf("NamespacedName (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff(schema.GroupKind{Group: "apps", Kind: "Deployment"}, want.GroupKind()); diff != "" {
		t.Errorf("GroupKind (-want, +got):\n%s", diff)
	}
}

func TestFromObjectRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		obj    object.Object
		want   string
	}{
		"no TypeMeta": {
			reason: "a typed object from a client does not know its kind; guessing would make a wrong identity",
			obj:    &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "b"}},
			want:   "identify object: its TypeMeta is empty, so its kind is unknown",
		},
		"no name": {
			reason: "before the name is generated there is nothing to identify",
			obj: &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"},
			},
			want: "identify object of kind ConfigMap: it has no name yet",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			id, err := object.FromObject(tc.obj)
			if err == nil || err.Error() != tc.want || !id.IsZero() {
				t.Errorf("FromObject() = %v, %v; want error %q: %s", id, err, tc.want, tc.reason)
			}
		})
	}
}

func TestCompareOrder(t *testing.T) {
	want := []object.ID{
		{},
		{Kind: "ConfigMap", Namespace: "n", Name: "a"},
		{Kind: "ConfigMap", Namespace: "n", Name: "b"},
		{Kind: "Secret", Name: "z"},
		{Kind: "Secret", Namespace: "n", Name: "a"},
		{Group: "apps", Kind: "Deployment", Name: "a"},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, object.Compare)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sorted by group, kind, namespace, name (-want, +got):\n%s", diff)
	}
}

func TestJSONIsAnObject(t *testing.T) {
	raw, err := json.Marshal(object.ID{Kind: "Node", Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"kind":"Node","name":"a"}`; string(raw) != want {
		t.Errorf("JSON is %s, want %s", raw, want)
	}
}

func mustFrom(t *testing.T, obj object.Object) object.ID {
	t.Helper()
	id, err := object.FromObject(obj)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var someIDs = rapid.Custom(func(t *rapid.T) object.ID {
	word := rapid.SampledFrom([]string{"", "a", "ab", "b", "B", "é"})
	return object.ID{
		Group: word.Draw(t, "group"), Kind: word.Draw(t, "kind"), Namespace: word.Draw(t, "namespace"),
		Name: word.Draw(t, "name"),
	}
})

// TestCompareIsAnOrder: outputs are sorted by Compare, so equal inputs give equal outputs only if Compare is
// a total order in which only equal IDs are equal.
func TestCompareIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := someIDs.Draw(t, "a"), someIDs.Draw(t, "b"), someIDs.Draw(t, "c")
		switch rapid.IntRange(0, 4).Draw(t, "differ in one part at most") {
		case 0:
			b = object.ID{Group: b.Group, Kind: a.Kind, Namespace: a.Namespace, Name: a.Name}
		case 1:
			b = object.ID{Group: a.Group, Kind: b.Kind, Namespace: a.Namespace, Name: a.Name}
		case 2:
			b = object.ID{Group: a.Group, Kind: a.Kind, Namespace: b.Namespace, Name: a.Name}
		case 3:
			b = object.ID{Group: a.Group, Kind: a.Kind, Namespace: a.Namespace, Name: b.Name}
		}
		if (object.Compare(a, b) == 0) != (a == b) || object.Compare(a, b) != -object.Compare(b, a) {
			t.Fatalf("%v and %v: %d and %d", a, b, object.Compare(a, b), object.Compare(b, a))
		}
		if object.Compare(a, b) <= 0 && object.Compare(b, c) <= 0 && object.Compare(a, c) > 0 {
			t.Fatalf("%v, %v, %v are in order, and the last is before the first", a, b, c)
		}
	})
}

// TestJSONRoundTrip: an ID read from JSON is the written ID, also if fields are empty.
func TestJSONRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := someIDs.Draw(t, "id")
		raw, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		var got object.ID
		if err := json.Unmarshal(raw, &got); err != nil || got != id {
			t.Fatalf("%s is read as %#v, error %v; want %#v", raw, got, err, id)
		}
	})
}
