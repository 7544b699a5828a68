// Package volumetype is the kind VolumeType of the openstack pack, for /v3/PROJECT_ID/types of
// Cinder. Its extra specs are changed with requests of their own ([kit.Table.Specs]).
package volumetype

import (
	"net/url"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.VolumeType

// Table describes the requests for VolumeTypes.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Volume,
	Place:   (*openstack.Scope).Region,
	Path:    "types", One: "volume_type", Many: "volume_types", Fields: fields,
	Always:     url.Values{"is_public": {"None"}}, // Otherwise Cinder lists public types only.
	Unfiltered: true, Compared: []string{"name", "description", "isPublic"},
	// Cinder refuses to change extra specs while volumes of the type exist.
	Specs: specs, SpecsPath: kit.SpecsField,
	References: kit.Bind[object](nil),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	specs := specs(in.Object)
	return []kit.Field{
		kit.Default("description", r.Description, ""),
		// POST and PUT have different names for the field.
		kit.Fixed("os-volume-type-access:is_public", r.IsPublic),
		kit.Default("is_public", r.IsPublic, true).Later(),
		kit.Fixed(kit.SpecsField, &specs),
	}
}

func specs(o object) map[string]string { return kit.Pairs(o.Spec.Resource.ExtraSpecs) }
