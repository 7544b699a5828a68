// Package flavor is the kind Flavor of the openstack pack, for /v2.1/flavors of Nova. The spec
// may choose the ID (spec.resource.id). Only the extra specs of a flavor can be changed
// ([kit.Table.Specs]).
package flavor

import (
	"net/url"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.Flavor

// Table describes the requests for Flavors.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Compute, Amend: amend, Names: names,
	Place: (*openstack.Scope).Region,
	Path:  "flavors", One: "flavor", Many: "flavors", Fields: fields, NameFixed: true,
	// Without is_public=None, Nova lists public flavors only.
	Listed: "flavors/detail", Always: url.Values{"is_public": {"None"}},
	Unfiltered: true, Compared: []string{"name", "ram", "vcpus", "disk"},
	Chosen: true, Specs: specs, SpecsPath: "os-extra_specs",
	References: kit.Bind[object](nil),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Fixed("id", r.ID),
		kit.Fixed("description", r.Description),
		kit.Fixed("ram", &r.RAM),
		kit.Fixed("vcpus", &r.Vcpus),
		kit.Fixed("disk", &r.Disk),
		kit.Fixed("swap", r.Swap),
		kit.Fixed(public, r.IsPublic),
		kit.Fixed(ephemeral, r.Ephemeral),
	}
}

func specs(o object) map[string]string { return kit.Pairs(o.Spec.Resource.ExtraSpecs) }

// Names of fields in Nova that differ from the names in status.resource.
const (
	public    = "os-flavor-access:is_public"
	ephemeral = "OS-FLV-EXT-DATA:ephemeral"
)

var names = map[string]string{"isPublic": public, "ephemeral": ephemeral}

// longestDescription is the maxLength of status.resource.description.
const longestDescription = 65535

func amend(o object, r *kit.Resource) {
	s := o.Status.Resource
	s.Swap, s.Ephemeral = kit.NonZero(s.Swap), kit.NonZero(s.Ephemeral)
	s.Description = kit.Cut(r.String("description"), longestDescription)
}
