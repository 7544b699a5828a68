// Package servergroup is the kind ServerGroup of the openstack pack, for /v2.1/os-server-groups
// of Nova. No field of a server group can be changed.
package servergroup

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
)

type object = *openstackv1alpha1.ServerGroup

// Table describes the requests for ServerGroups.
var Table = kit.Table[object]{
	Service: (*openstack.Scope).Compute,
	Path:    "os-server-groups", One: "server_group", Many: "server_groups", Fields: fields, NameFixed: true,
	Unfiltered: true, Compared: []string{"name"},
	References: kit.Bind[object](nil),
}

func fields(in external.Input[object]) []kit.Field {
	r := in.Object.Spec.Resource
	all := []kit.Field{kit.Fixed("policy", &r.Policy)}
	if r.Rules != nil && r.Rules.MaxServerPerHost > 0 {
		all = append(all, kit.Fixed("rules", &map[string]int32{"max_server_per_host": r.Rules.MaxServerPerHost}))
	}
	return all
}
