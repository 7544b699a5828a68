package keypair

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "KeyPair"

type object = *openstackv1alpha1.KeyPair

// References are the [kit.Reference] values of a KeyPair.
var References = kit.Bind[object](kind, nil)
