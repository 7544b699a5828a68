package openstack

import (
	"reflect"

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

// entry is a kind of the pack in its scheme.
type entry struct {
	name      string
	relations []relation.Relation
	add       func(*external.Engine, *kit.Connector)
}

// of makes the entry of a kind from the References and New of its package. The scheme names a kind
// after its Go type, and so does the entry.
func of[K external.Object](
	references kit.References, of func(*kit.Connector) external.Kind[K, *kit.Resource],
) entry {
	name := reflect.TypeFor[K]().Elem().Name()
	return entry{name, references.Relations, func(e *external.Engine, c *kit.Connector) { external.Add(e, of(c)) }}
}

// kinds lists all kinds.
var kinds = []entry{
	of(domain.References, domain.New),
	of(project.References, project.New),
	of(network.References, network.New),
	of(subnet.References, subnet.New),
	of(router.References, router.New),
	of(routerinterface.References, routerinterface.New),
	of(port.References, port.New),
	of(securitygroup.References, securitygroup.New),
	of(floatingip.References, floatingip.New),
	of(trunk.References, trunk.New),
	of(addressscope.References, addressscope.New),
	of(group.References, group.New),
	of(role.References, role.New),
	of(service.References, service.New),
	of(endpoint.References, endpoint.New),
	of(servergroup.References, servergroup.New),
	of(sharenetwork.References, sharenetwork.New),
	of(user.References, user.New),
	of(flavor.References, flavor.New),
	of(keypair.References, keypair.New),
	of(roleassignment.References, roleassignment.New),
	of(applicationcredential.References, applicationcredential.New),
	of(image.References, image.New),
	of(volumetype.References, volumetype.New),
	of(volume.References, volume.New),
	of(server.References, server.New),
}
