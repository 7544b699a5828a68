package pack

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// rightsGroups are API groups whose kinds give rights, or decide about the requests of others.
var rightsGroups = []string{
	"admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "authentication.k8s.io",
	"authorization.k8s.io", "certificates.k8s.io", "flowcontrol.apiserver.k8s.io", "rbac.authorization.k8s.io",
}

// rightsResources are further resources that give rights: a ReferenceGrant gives the consent of a namespace, and a
// controller hands the content of the others on to an account.
var rightsResources = []schema.GroupResource{
	{Group: "gateway.networking.k8s.io", Resource: "referencegrants"},
	{Resource: "namespaces"},
	{Resource: "nodes"},
	{Resource: "bindings"},
	{Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"},
	{Group: "coordination.k8s.io", Resource: "leases"},
}

// GivesRights says why a pack must not create a resource for the author of another object, or "". The API server checks
// some rights of the user who sends the request, which would be the pack's account in place of the author. Example:
// a RoleBinding may name only roles whose rights the user has.
func GivesRights(r schema.GroupResource) string {
	switch {
	case strings.Contains(r.Resource, "/"):
		return "it is a subresource, and only whole objects can be created"
	case !isResource(r):
		return "it is no resource in the form RESOURCE.GROUP, in lower case, such as deployments.apps"
	case slices.Contains(rightsGroups, r.Group), slices.Contains(rightsResources, r):
		return "they give rights, which the API server would judge by the operator's account"
	default:
		return ""
	}
}

// isResource reports whether a resource has a name and a group of the form that the API server serves. In another
// spelling, a comparison with known resources would miss the resource.
func isResource(r schema.GroupResource) bool {
	return len(validation.IsDNS1123Label(r.Resource)) == 0 &&
		(r.Group == "" || len(validation.IsDNS1123Subdomain(r.Group)) == 0)
}
