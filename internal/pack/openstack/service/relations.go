package service

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Service"

type object = *openstackv1alpha1.Service

// References are the [kit.Reference] values of a Service.
var References = kit.Bind[object](kind, nil)
