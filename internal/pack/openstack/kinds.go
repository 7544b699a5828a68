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

// of returns the entry for New and References of a kind's package.
func of[K external.Object](
	name string, references kit.References, of func(*kit.Connector) external.Kind[K, *kit.Resource],
) entry {
	return entry{name, references.Relations, func(e *external.Engine, c *kit.Connector) { external.Add(e, of(c)) }}
}

// kinds lists all kinds.
var kinds = []entry{
	of("Domain", domain.References, domain.New),
	of("Project", project.References, project.New),
	of("Network", network.References, network.New),
	of("Subnet", subnet.References, subnet.New),
	of("Router", router.References, router.New),
	of("RouterInterface", routerinterface.References, routerinterface.New),
	of("Port", port.References, port.New),
	of("SecurityGroup", securitygroup.References, securitygroup.New),
	of("FloatingIP", floatingip.References, floatingip.New),
	of("Trunk", trunk.References, trunk.New),
	of("AddressScope", addressscope.References, addressscope.New),
	of("Group", group.References, group.New),
	of("Role", role.References, role.New),
	of("Service", service.References, service.New),
	of("Endpoint", endpoint.References, endpoint.New),
	of("ServerGroup", servergroup.References, servergroup.New),
	of("ShareNetwork", sharenetwork.References, sharenetwork.New),
	of("User", user.References, user.New),
	of("Flavor", flavor.References, flavor.New),
	of("KeyPair", keypair.References, keypair.New),
	of("RoleAssignment", roleassignment.References, roleassignment.New),
	of("ApplicationCredential", applicationcredential.References, applicationcredential.New),
	of("Image", image.References, image.New),
	of("VolumeType", volumetype.References, volumetype.New),
	of("Volume", volume.References, volume.New),
	of("Server", server.References, server.New),
}
