package openstack

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// TestKinds: the pack has a controller for each kind of the API group.
func TestKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := openstackv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	served := make([]string, 0, len(kinds))
	var known []string
	for _, k := range kinds {
		served = append(served, k.name)
	}
	for kind := range scheme.KnownTypes(openstackv1alpha1.GroupVersion) {
		if scheme.Recognizes(openstackv1alpha1.GroupVersion.WithKind(kind + "List")) {
			known = append(known, kind)
		}
	}
	slices.Sort(served)
	slices.Sort(known)
	if diff := cmp.Diff(known, served); diff != "" {
		t.Errorf("kinds (-scheme +pack):\n%s", diff)
	}
}
