package flavor

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Flavor"

type object = *openstackv1alpha1.Flavor

// Relations of a Flavor.
var Relations = []relation.Relation{kit.Credentials[object](kind)}
