package image

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "Image"

type object = *openstackv1alpha1.Image

// References are the [kit.Reference] values of an Image.
var References = kit.Bind[object](kind, nil)
