package applicationcredential

import (
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
)

const kind = "ApplicationCredential"

type object = *openstackv1alpha1.ApplicationCredential

// References are the [kit.Reference] values of an ApplicationCredential.
var References = kit.Bind[object](kind, []kit.Reference{
	{Target: "User", Field: "spec.resource.userRef"},
	{Target: "Role", Field: "spec.resource.roleRefs"},
	{Target: "Service", Field: "spec.resource.accessRules[].serviceRef"},
	// An ApplicationCredential needs its Secret for POST only: Keystone has no request to
	// change the secret.
	{Target: "Secret", Field: "spec.resource.secretRef", Need: kit.Once},
})
