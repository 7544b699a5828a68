package servergroup

import (
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

// New returns the [external.Kind] of ServerGroup.
func New(c *kit.Connector) external.Kind[object, *kit.Resource] {
	return kit.Kind(c, &table)
}

var table = kit.Table[object]{
	Kind: kind, Service: (*openstack.Scope).Compute, References: References,
	Path: "os-server-groups", One: "server_group", Many: "server_groups", Fields: fields,
	Unfiltered: true, Compared: []string{"name"},
}

func fields(in external.Input[object]) []kit.Field {
	r, name := in.Object.Spec.Resource, in.Object.GetResourceName()
	all := []kit.Field{kit.Fixed("name", &name), kit.Fixed("policy", &r.Policy)}
	if r.Rules != nil && r.Rules.MaxServerPerHost > 0 {
		all = append(all, kit.Fixed("rules", &map[string]int32{"max_server_per_host": r.Rules.MaxServerPerHost}))
	}
	return all
}
