package relation

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"
)

// served is a group whose preferred version is not its first.
func served() *restmapper.APIGroupResources {
	all := metav1.Verbs{"get", "list", "watch", "delete"}
	widgets := metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: all}
	return &restmapper.APIGroupResources{
		Group: metav1.APIGroup{
			Name: "g",
			Versions: []metav1.GroupVersionForDiscovery{
				{GroupVersion: "g/v1", Version: "v1"}, {GroupVersion: "g/v2", Version: "v2"}, {GroupVersion: "g/v3", Version: "v3"},
			},
			PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "g/v2", Version: "v2"},
		},
		VersionedResources: map[string][]metav1.APIResource{
			"v1": {widgets, {Name: "reviews", Kind: "Review", Verbs: metav1.Verbs{"create"}}},
			"v2": {widgets, {Name: "widgets/status", Kind: "Widget", Verbs: metav1.Verbs{"get", "patch"}}},
			"v3": {{Name: "gadgets", Kind: "Gadget", Verbs: all}},
		},
	}
}

func catalogOf(groups ...*restmapper.APIGroupResources) *catalog {
	kinds := map[schema.GroupKind][]Mapping{}
	for _, g := range groups {
		addGroup(kinds, g)
	}
	c := &catalog{}
	c.kinds.Store(&kinds)
	return c
}

func TestCatalogMapping(t *testing.T) {
	widget := func(version string) Mapping {
		gvr := schema.GroupVersionResource{Group: "g", Version: version, Resource: "widgets"}
		return Mapping{Resource: gvr, Kind: "Widget", Namespaced: true}
	}
	gadgets := schema.GroupVersionResource{Group: "g", Version: "v3", Resource: "gadgets"}
	gadget := Mapping{Resource: gadgets, Kind: "Gadget"}
	cases := map[string]struct {
		reason  string
		kind    string
		version string
		want    Mapping
		err     string
	}{
		"any version":   {"the preferred one, wherever it stands", "Widget", "", widget("v2"), ""},
		"old version":   {"it is served too", "Widget", "v1", widget("v1"), ""},
		"not preferred": {"the preferred version does not have the kind", "Gadget", "", gadget, ""},
		"no such version": {
			"the versions served say what to write instead", "Widget", "v9",
			Mapping{},
			"Widget.g is not served in version v9, but in [v2 v1]",
		},
		"no such kind":  {"", "Gizmo", "", Mapping{}, "no kind Gizmo.g in this cluster"},
		"not watchable": {"a review can't be referred to", "Review", "", Mapping{}, "no kind Review.g in this cluster"},
	}
	c := catalogOf(served())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			gvk := schema.GroupVersionKind{Group: "g", Kind: tc.kind, Version: tc.version}
			got, err := c.Mapping(gvk)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			var kindErr *KindError
			if (tc.err != "") != errors.As(err, &kindErr) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if kindErr != nil && (kindErr.Error() != tc.err || kindErr.Kind != gvk) {
				t.Errorf("%s: error %q of %s, want %q", tc.reason, kindErr, kindErr.Kind, tc.err)
			}
		})
	}
	_, err := (&catalog{}).Mapping(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if want := "no kind Pod in this cluster"; err == nil || err.Error() != want {
		t.Errorf("before the first reading: %v, want %q", err, want)
	}
}

func TestCatalogServed(t *testing.T) {
	want := []string{"gadgets.g v3", "widgets.g v2"}
	var got []string
	for _, m := range catalogOf(served()).served() {
		got = append(got, m.Resource.GroupResource().String()+" "+m.Resource.Version)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each kind once, preferred version, in order (-want +got):\n%s", diff)
	}
	if got := (&catalog{}).served(); got != nil {
		t.Errorf("served before the first reading: %v", got)
	}
}
