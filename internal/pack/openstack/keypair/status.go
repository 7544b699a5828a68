package keypair

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// longestKey is the maxLength of status.resource.publicKey.
const longestKey = 16384

// observe reports a KeyPair, which is available as soon as it exists.
func observe(o object, r *kit.Resource) reconcile.Outcome {
	o.Status.Resource = &openstackv1alpha1.KeyPairResourceStatus{}
	kit.Report(r, o.Status.Resource, nil)
	o.Status.Resource.PublicKey = kit.Cut(r.String("public_key"), longestKey)
	return reconcile.Outcome{}
}
