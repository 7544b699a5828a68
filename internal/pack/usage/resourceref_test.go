package usage

import (
	"strings"
	"testing"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

func containsText(text, part string) bool { return strings.Contains(text, part) }

// kind2 names an object of another kind than ConfigMap.
func kind2(apiVersion, kind string) sharedv1alpha1.Resource {
	return sharedv1alpha1.Resource{
		APIVersion: apiVersion, Kind: kind, ResourceRef: &sharedv1alpha1.ResourceRef{Name: "a"},
	}
}

// TestChoose: choose takes the first object that is not being deleted, and records its
// namespace if it differs from the namespace of the Usage.
func TestChoose(t *testing.T) {
	obj := func(namespace, name string, deleting bool) relation.Object {
		return relation.Object{ID: object.ID{Kind: "ConfigMap", Namespace: namespace, Name: name}, Deleting: deleting}
	}
	cases := map[string]struct {
		reason  string
		objects []relation.Object
		want    *sharedv1alpha1.ResourceRef
	}{
		"none":          {"it waits", nil, nil},
		"only deleting": {"the object is about to go", []relation.Object{obj("ns", "a", true)}, nil},
		"oldest": {
			"objects come oldest first",
			[]relation.Object{obj("ns", "a", true), obj("ns", "c", false), obj("ns", "b", false)},
			&sharedv1alpha1.ResourceRef{Name: "c"},
		},
		"elsewhere": {
			"the name alone would mean another object",
			[]relation.Object{obj("other", "a", false)},
			&sharedv1alpha1.ResourceRef{Name: "a", Namespace: "other"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := side{"spec.of", &sharedv1alpha1.Resource{}}
			outcome := choose(s, "ns", relation.Ref{}, c.objects)
			got := s.resource.ResourceRef
			if outcome.IsDone() != (c.want != nil) || (got == nil) != (c.want == nil) || (got != nil && *got != *c.want) {
				t.Errorf("%s: chose %+v (%s), want %+v", c.reason, got, outcome.Message(), c.want)
			}
		})
	}
}

// TestChooseObjects: a Usage waits for an object that its selector matches, and keeps the choice.
func TestChooseObjects(t *testing.T) {
	r := newRig(t)
	r.create(configMap("using"))
	u := uses("u")
	u.Spec.Of.ResourceRef, u.Spec.Of.ResourceSelector = nil, &sharedv1alpha1.ResourceSelector{
		MatchLabels: map[string]string{"app": "x"},
	}
	r.create(u)
	r.pass(u)
	r.ready(u, sharedv1alpha1.ReasonSelectorUnmatched)
	used := configMap("used")
	used.Labels = map[string]string{"app": "x"}
	r.create(used)
	r.pass(u)
	r.pass(u)
	r.ready(u, "")
	if ref := u.Spec.Of.ResourceRef; ref == nil || *ref != (sharedv1alpha1.ResourceRef{Name: "used"}) {
		t.Errorf("resourceRef is %+v, want name used", ref)
	}
	r.locked(used, true)
}
