package sharenetwork

import (
	"net/url"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the kind.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, kind, (*openstack.Scope).Share, &table, Relations, observe)
}

var table = kit.Table[object]{
	Dated: true,
	Path:  "share-networks", One: "share_network", Many: "share_networks",
	Listed: "share-networks/detail", Fields: fields, Filter: query,
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	return []kit.Field{
		kit.Always("name", in.Object.GetResourceName()),
		kit.Default("description", r.Description, ""),
		kit.Fixed("neutron_net_id", kit.ID(in, "Network", r.NetworkRef)),
		kit.Fixed("neutron_subnet_id", kit.ID(in, "Subnet", r.SubnetRef)),
	}
}

func query(in external.Input[object]) url.Values {
	f, q := in.Object.GetFilter(), kit.NewQuery()
	kit.Add(q, "name", f.Name)
	kit.Add(q, "description", f.Description)
	return q.Values
}
