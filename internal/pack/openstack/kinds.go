package openstack

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/addressscope"
	"github.com/kinship-dev/kinship/internal/pack/openstack/applicationcredential"
	"github.com/kinship-dev/kinship/internal/pack/openstack/domain"
	"github.com/kinship-dev/kinship/internal/pack/openstack/endpoint"
	"github.com/kinship-dev/kinship/internal/pack/openstack/flavor"
	"github.com/kinship-dev/kinship/internal/pack/openstack/floatingip"
	"github.com/kinship-dev/kinship/internal/pack/openstack/group"
	"github.com/kinship-dev/kinship/internal/pack/openstack/image"
	"github.com/kinship-dev/kinship/internal/pack/openstack/keypair"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/pack/openstack/network"
	"github.com/kinship-dev/kinship/internal/pack/openstack/port"
	"github.com/kinship-dev/kinship/internal/pack/openstack/project"
	"github.com/kinship-dev/kinship/internal/pack/openstack/role"
	"github.com/kinship-dev/kinship/internal/pack/openstack/roleassignment"
	"github.com/kinship-dev/kinship/internal/pack/openstack/router"
	"github.com/kinship-dev/kinship/internal/pack/openstack/routerinterface"
	"github.com/kinship-dev/kinship/internal/pack/openstack/securitygroup"
	"github.com/kinship-dev/kinship/internal/pack/openstack/server"
	"github.com/kinship-dev/kinship/internal/pack/openstack/servergroup"
	"github.com/kinship-dev/kinship/internal/pack/openstack/service"
	"github.com/kinship-dev/kinship/internal/pack/openstack/sharenetwork"
	"github.com/kinship-dev/kinship/internal/pack/openstack/subnet"
	"github.com/kinship-dev/kinship/internal/pack/openstack/trunk"
	"github.com/kinship-dev/kinship/internal/pack/openstack/user"
	"github.com/kinship-dev/kinship/internal/pack/openstack/volume"
	"github.com/kinship-dev/kinship/internal/pack/openstack/volumetype"
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
func of[K external.Object](
	name string, relations []relation.Relation, of func(*kit.Connector) external.Kind[K, *kit.Resource],
) entry {
	return entry{name, relations, func(e *external.Engine, c *kit.Connector) { external.Add(e, of(c)) }}
}

// kinds is the list of all kinds.
var kinds = []entry{
	of("Domain", domain.Relations, domain.New),
	of("Project", project.Relations, project.New),
	of("Network", network.Relations, network.New),
	of("Subnet", subnet.Relations, subnet.New),
	of("Router", router.Relations, router.New),
	of("RouterInterface", routerinterface.Relations, routerinterface.New),
	of("Port", port.Relations, port.New),
	of("SecurityGroup", securitygroup.Relations, securitygroup.New),
	of("FloatingIP", floatingip.Relations, floatingip.New),
	of("Trunk", trunk.Relations, trunk.New),
	of("AddressScope", addressscope.Relations, addressscope.New),
	of("Group", group.Relations, group.New),
	of("Role", role.Relations, role.New),
	of("Service", service.Relations, service.New),
	of("Endpoint", endpoint.Relations, endpoint.New),
	of("ServerGroup", servergroup.Relations, servergroup.New),
	of("ShareNetwork", sharenetwork.Relations, sharenetwork.New),
	of("User", user.Relations, user.New),
	of("Flavor", flavor.Relations, flavor.New),
	of("KeyPair", keypair.Relations, keypair.New),
	of("RoleAssignment", roleassignment.Relations, roleassignment.New),
	of("ApplicationCredential", applicationcredential.Relations, applicationcredential.New),
	of("Image", image.Relations, image.New),
	of("VolumeType", volumetype.Relations, volumetype.New),
	of("Volume", volume.Relations, volume.New),
	of("Server", server.Relations, server.New),
}
