package flavor

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Names of fields in Nova that differ from the names in status.resource.
const (
	public    = "os-flavor-access:is_public"
	ephemeral = "OS-FLV-EXT-DATA:ephemeral"
)

var names = map[string]string{"isPublic": public, "ephemeral": ephemeral}

// longestDescription is the maxLength of status.resource.description.
const longestDescription = 65535

type pair = openstackv1alpha1.FlavorExtraSpecStatus

// observe reports a Flavor, which is available as soon as Nova returns the flavor.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = &openstackv1alpha1.FlavorResourceStatus{}
	kit.Report(r, o.Status.Resource, names)
	o.Status.Resource.Swap = kit.NonZero(o.Status.Resource.Swap)
	o.Status.Resource.Ephemeral = kit.NonZero(o.Status.Resource.Ephemeral)
	o.Status.Resource.Description = kit.Cut(r.String("description"), longestDescription)
	o.Status.Resource.ExtraSpecs = kit.Pairs(r, specsField, func(key, value string) pair {
		return pair{Name: key, Value: value}
	})
	return reconcile.Outcome{}
}
