package watch

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// served is a group whose preferred version is not its first.
func served() (*metav1.APIGroup, []*metav1.APIResourceList) {
	all := metav1.Verbs{"get", "list", "watch", "delete"}
	widgets := metav1.APIResource{Name: "widgets", Kind: "Widget", Namespaced: true, Verbs: all}
	group := &metav1.APIGroup{
		Name: "g",
		Versions: []metav1.GroupVersionForDiscovery{
			{GroupVersion: "g/v1", Version: "v1"}, {GroupVersion: "g/v2", Version: "v2"}, {GroupVersion: "g/v3", Version: "v3"},
		},
		PreferredVersion: metav1.GroupVersionForDiscovery{GroupVersion: "g/v2", Version: "v2"},
	}
	return group, []*metav1.APIResourceList{
		{GroupVersion: "g/v1", APIResources: []metav1.APIResource{
			widgets, {Name: "reviews", Kind: "Review", Verbs: metav1.Verbs{"create"}},
		}},
		{GroupVersion: "g/v2", APIResources: []metav1.APIResource{
			widgets, {Name: "widgets/status", Kind: "Widget", Verbs: metav1.Verbs{"get", "patch"}},
		}},
		{GroupVersion: "g/v3", APIResources: []metav1.APIResource{{Name: "gadgets", Kind: "Gadget", Verbs: all}}},
	}
}

func catalogOf(group *metav1.APIGroup, resources []*metav1.APIResourceList) *Catalog {
	known := newSnapshot()
	known.add(group, resources)
	c := &Catalog{}
	c.last.Store(known)
	return c
}

// TestCatalogSilence refreshes a Catalog while one version of a group does not answer
// discovery, and then while the whole group does not answer.
func TestCatalogSilence(t *testing.T) {
	down := errors.New("down")
	group, resources := served()
	before, never := catalogOf(group, resources).last.Load(), newSnapshot()
	cases := map[string]struct {
		reason string
		before *snapshot
		silent []string
		kind   string
		ask    string
		want   string // version
		err    error
	}{
		"preferred":         {"another one answers", before, []string{"v2"}, "Widget", "", "v1", nil},
		"preferred, itself": {"it was there", before, []string{"v2"}, "Widget", "v2", "v2", nil},
		"other version":     {"v9 answers: it does not exist", before, []string{"v2"}, "Widget", "v9", "", &KindError{}},
		"all":               {"they were there", before, []string{"v1", "v2", "v3"}, "Widget", "", "v2", nil},
		"new kind":          {"v3 may have it", before, []string{"v3"}, "Gizmo", "", "", &UnansweredError{}},
		"new kind, version": {"so it may", before, []string{"v3"}, "Gizmo", "v1", "", &UnansweredError{}},
		"never known":       {"nor can it be told", never, []string{"v1", "v2", "v3"}, "Widget", "", "", &UnansweredError{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := newSnapshot()
			for _, version := range tc.silent {
				now.silence(schema.GroupVersion{Group: "g", Version: version}, down)
			}
			group, resources := served()
			group.Versions = slices.DeleteFunc(group.Versions, func(v metav1.GroupVersionForDiscovery) bool {
				return slices.Contains(tc.silent, v.Version)
			})
			group.PreferredVersion = metav1.GroupVersionForDiscovery{} // The error of a group without a silent version.
			if len(group.Versions) > 0 {
				group.PreferredVersion = group.Versions[0]
			}
			now.add(group, resources)
			now.keepSilent(tc.before)
			c := &Catalog{}
			c.last.Store(now)
			got, err := c.Mapping(schema.GroupVersionKind{Group: "g", Kind: tc.kind, Version: tc.ask})
			if got.Resource.Version != tc.want || fmt.Sprintf("%T", err) != fmt.Sprintf("%T", tc.err) {
				t.Errorf("%s: version %q, error %v", tc.reason, got.Resource.Version, err)
			}
			if c.Silence("g") == nil || c.Silence("h") != nil {
				t.Errorf("silence of g is %v, of h %v", c.Silence("g"), c.Silence("h"))
			}
		})
	}
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
	_, err := (&Catalog{}).Mapping(schema.GroupVersionKind{Version: "v1", Kind: "Pod"})
	if want := "no kind Pod in this cluster"; err == nil || err.Error() != want {
		t.Errorf("before the first reading: %v, want %q", err, want)
	}
}

func TestCatalogServed(t *testing.T) {
	want := []string{"widgets.g v2", "gadgets.g v3"}
	var got []string
	for _, m := range catalogOf(served()).Served() {
		got = append(got, m.Resource.GroupResource().String()+" "+m.Resource.Version)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each kind once, preferred version, in order of precedence (-want +got):\n%s", diff)
	}
	if got := (&Catalog{}).Served(); got != nil {
		t.Errorf("served before the first reading: %v", got)
	}
}
