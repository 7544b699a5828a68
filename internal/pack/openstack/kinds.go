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

// entry is a kind of the pack in its scheme.
type entry struct {
	name      string
	relations []relation.Relation
	add       func(*external.Engine, *kit.Connector)
}

// of makes the entry of a kind from the References and New of its package.
func of[K external.Object](
	references kit.References, of func(*kit.Connector) external.Kind[K, *kit.Resource],
) entry {
	add := func(e *external.Engine, c *kit.Connector) { external.Add(e, of(c)) }
	return entry{kit.KindOf[K](), references.Relations, add}
}

// plain makes the entry of a kind that its Table describes completely.
func plain[K kit.Credentialed](table *kit.Table[K]) entry {
	return of(table.References, func(c *kit.Connector) external.Kind[K, *kit.Resource] { return kit.Kind(c, table) })
}

// kinds lists all kinds.
var kinds = []entry{
	plain(&domain.Table),
	plain(&project.Table),
	plain(&network.Table),
	of(subnet.References, subnet.New),
	plain(&router.Table),
	of(routerinterface.References, routerinterface.New),
	plain(&port.Table),
	plain(&securitygroup.Table),
	plain(&floatingip.Table),
	plain(&trunk.Table),
	plain(&addressscope.Table),
	plain(&group.Table),
	plain(&role.Table),
	plain(&service.Table),
	plain(&endpoint.Table),
	plain(&servergroup.Table),
	plain(&sharenetwork.Table),
	plain(&user.Table),
	plain(&flavor.Table),
	of(keypair.References, keypair.New),
	of(roleassignment.References, roleassignment.New),
	of(applicationcredential.References, applicationcredential.New),
	of(image.References, image.New),
	plain(&volumetype.Table),
	plain(&volume.Table),
	plain(&server.Table),
}
