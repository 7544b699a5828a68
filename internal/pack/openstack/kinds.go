package openstack

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/pack/openstack/network"
	"github.com/kinship-dev/kinship/internal/pack/openstack/subnet"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// entry is a kind of the pack.
type entry struct {
	name      string
	relations []relation.Relation
	add       func(*external.Engine, *kit.Connector)
}

// of makes an entry of what a kind's package has.
func of[K kit.Credentialed](
	name string, relations []relation.Relation, make func(*kit.Connector) external.Kind[K, *kit.Resource],
) entry {
	return entry{name, relations, func(e *external.Engine, c *kit.Connector) { external.Add(e, make(c)) }}
}

// kinds is the list of all kinds.
var kinds = []entry{
	of("Network", network.Relations, network.New),
	of("Subnet", subnet.Relations, subnet.New),
}
