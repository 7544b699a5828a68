package keypair

import (
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of KeyPair.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	k := kit.Kind(c, &table)
	k.Realm = kit.Realm[object]
	k.Identify = func(r *kit.Resource) external.Identity { return external.Identity{ID: r.String("name")} }
	return k
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Compute, References: References, Observe: observe,
	Place: (*openstack.Scope).User,
	Path:  "os-keypairs", One: "keypair", Many: "keypairs", Fields: fields,
	Unfiltered: true, Compared: []string{"name"},
}

func fields(in external.Input[object]) []kit.Field {
	r, name := in.Object.Spec.Resource, in.Object.GetResourceName()
	return []kit.Field{
		kit.Fixed("name", &name), kit.Fixed("public_key", &r.PublicKey), kit.Fixed("type", r.Type),
	}
}
