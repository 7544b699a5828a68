package image

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const kind = "Image"

type object = *openstackv1alpha1.Image

// Relations of an Image.
var Relations = []relation.Relation{kit.Credentials[object](kind)}
