package flavor

import (
	"maps"
	"slices"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Fields that Nova calls otherwise.
const (
	public    = "os-flavor-access:is_public"
	ephemeral = "OS-FLV-EXT-DATA:ephemeral"
)

var names = map[string]string{"isPublic": public, "ephemeral": ephemeral}

// What a status takes.
const (
	longestDescription = 65535
	mostSpecs          = 128
)

// observe reports a Flavor, which serves as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = &openstackv1alpha1.FlavorResourceStatus{}
	kit.Report(r, o.Status.Resource, names)
	o.Status.Resource.Description = kit.Cut(r.String("description"), longestDescription)
	have := specs(r)
	for _, name := range slices.Sorted(maps.Keys(have))[:min(len(have), mostSpecs)] {
		o.Status.Resource.ExtraSpecs = append(o.Status.Resource.ExtraSpecs,
			openstackv1alpha1.FlavorExtraSpecStatus{Name: name, Value: have[name]})
	}
	return reconcile.Outcome{}
}

// specs returns the extra specs that a resource has.
func specs(r *kit.Resource) map[string]string {
	have, all := map[string]string{}, r.Map(extraSpecs)
	for name := range all {
		have[name], _ = all[name].(string)
	}
	return have
}
