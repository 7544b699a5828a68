package flavor

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Flavor"

type object = *openstackv1alpha1.Flavor

// References are the [kit.Reference] values of a Flavor.
var References = kit.Bind[object](kind, nil)
