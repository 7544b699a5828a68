package flavor

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
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

func amend(o object, r *kit.Resource) {
	s := o.Status.Resource
	s.Swap, s.Ephemeral = kit.NonZero(s.Swap), kit.NonZero(s.Ephemeral)
	s.Description = kit.Cut(r.String("description"), longestDescription)
	s.ExtraSpecs = kit.Pairs(r, specsField, func(key, value string) pair { return pair{Name: key, Value: value} })
}
