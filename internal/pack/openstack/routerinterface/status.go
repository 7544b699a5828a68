package routerinterface

import (
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// observe writes no status.resource: status.id is all that there is. A RouterInterface is
// available once its port is ACTIVE.
func observe(_ object, r *kit.Resource) reconcile.Outcome { return kit.Status(r, "ACTIVE") }
