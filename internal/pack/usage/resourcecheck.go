package usage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
)

// volatile are the kinds whose objects change all the time. A watch of Events would send the
// operator every event of the cluster. No Usage needs these kinds: an Event or a Lease is about
// another object, which the Usage can name instead.
var volatile = []schema.GroupKind{
	{Kind: "Event"},
	{Group: "events.k8s.io", Kind: "Event"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"},
}

func isVolatile(gk schema.GroupKind) bool { return slices.Contains(volatile, gk) }

// plainNames are the API groups in which every object name is a DNS subdomain. Names of Roles,
// or of objects of an aggregated API server, may have other characters.
var plainNames = []string{"", "apiextensions.k8s.io", "apps", "autoscaling", "batch", "policy", "storage.k8s.io"}

// checkResource returns an error if no object can ever match spec.of or spec.by, whatever is
// installed or created later.
func checkResource(r *sharedv1alpha1.Resource) error {
	gk := groupKindOf(r)
	if isVolatile(gk) {
		return fmt.Errorf("%[1]s objects are written all the time, and can't be watched for a Usage: "+
			"name the object that the %[1]s is about", gk)
	}
	if ref := r.ResourceRef; hasName(r) {
		if slices.Contains(plainNames, gk.Group) {
			if err := wrong("name", ref.Name, validation.IsDNS1123Subdomain(ref.Name)); err != nil {
				return err
			}
		}
		return wrongNamespace(ref.Namespace)
	}
	s := r.ResourceSelector
	if s == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if err := wrong("label", key, validation.IsQualifiedName(key)); err != nil {
			return err
		}
		value := s.MatchLabels[key]
		if err := wrong("label "+key+" with the value", value, validation.IsValidLabelValue(value)); err != nil {
			return err
		}
	}
	return wrongNamespace(s.Namespace)
}

func wrongNamespace(name string) error {
	if name == "" {
		return nil
	}
	return wrong("namespace", name, validation.IsDNS1123Label(name))
}

// wrong returns an error if there are reasons why no object can have a name, a label or a value.
func wrong(what, value string, reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("no object can have the %s %q: %s", what, value, strings.Join(reasons, "; "))
}
