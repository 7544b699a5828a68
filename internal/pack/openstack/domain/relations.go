package domain

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Domain"

type (
	object = *openstackv1alpha1.Domain
)

// Relations of a Domain.
var Relations = []relation.Relation{kit.Credentials[object](kind)}
