package keypair

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "KeyPair"

type object = *openstackv1alpha1.KeyPair

// Relations of a KeyPair.
var Relations = []relation.Relation{kit.Credentials[object](kind)}
