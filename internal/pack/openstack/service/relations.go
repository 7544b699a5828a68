package service

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Service"

type object = *openstackv1alpha1.Service

// Relations of a Service.
var Relations = []relation.Relation{
	kit.Credentials[object](kind),
}
