package domain

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Domain"

type object = *openstackv1alpha1.Domain

// References are the [kit.Reference] values of a Domain.
var References = kit.Bind[object](kind, nil)
