// Package keypair is the kind KeyPair of the openstack pack, for /v2.1/os-keypairs of Nova. The
// ID of a key pair is its name, and no field of a key pair can be changed.
package keypair

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.KeyPair

// References are the [kit.Reference] values of a KeyPair.
var References = kit.Bind[object](nil)

// New returns the [external.Kind] of KeyPair.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Identify = func(r *kit.Resource) external.Identity { return external.Identity{ID: r.String("name")} }
	return k
}

var table = kit.Table[object]{
	Service: (*openstack.Scope).Compute, References: References, Amend: amend,
	Place: (*openstack.Scope).User,
	Path:  "os-keypairs", One: "keypair", Many: "keypairs", Fields: fields, NameFixed: true,
	Unfiltered: true, Chosen: true, Compared: []string{"name"},
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Fixed("public_key", &r.PublicKey), kit.Fixed("type", r.Type),
	}
}

// longestKey is the maxLength of status.resource.publicKey.
const longestKey = 16384

func amend(o object, r *kit.Resource) {
	o.Status.Resource.PublicKey = kit.Cut(r.String("public_key"), longestKey)
}
