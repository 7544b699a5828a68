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

// restless are the kinds whose objects are written all the time. A watch of such a kind would
// send the operator every event of the cluster. No Usage needs these kinds: an Event or a
// Lease is about another object, which the Usage can name instead.
var restless = []schema.GroupKind{
	{Kind: "Event"},
	{Group: "events.k8s.io", Kind: "Event"},
	{Group: "coordination.k8s.io", Kind: "Lease"},
	{Group: "coordination.k8s.io", Kind: "LeaseCandidate"},
}

// isRestless reports whether objects of a kind are written all the time.
func isRestless(gk schema.GroupKind) bool { return slices.Contains(restless, gk) }

// plainNames are the groups whose objects have names that are DNS subdomains, all of them.
// Names of Roles, or of what another API server serves, may have other characters.
var plainNames = []string{"", "apiextensions.k8s.io", "apps", "autoscaling", "batch", "policy", "storage.k8s.io"}

// impossible returns why one side of a Usage can't stand for any object, whatever is
// installed or created later. The error is nil if the side can.
func impossible(r *sharedv1alpha1.Resource) error {
	gk := kindNamed(r)
	if isRestless(gk) {
		return fmt.Errorf("%s objects are written all the time, and can't be watched for a Usage: "+
			"name the object that they are about", gk)
	}
	if ref := r.ResourceRef; ref != nil && ref.Name != "" {
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

// wrong returns that no object can have something, if there are reasons.
func wrong(what, value string, reasons []string) error {
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("no object can have the %s %q: %s", what, value, strings.Join(reasons, "; "))
}
