// Package v1alpha1 is the API group openstack.k-orc.cloud: one kind for each sort
// of OpenStack resource.
//
// Every kind has the same shape. spec.cloudCredentialsRef names a Secret with a
// clouds.yaml. spec.managementPolicy says whether the resource is ours (then
// spec.resource describes it) or only looked at (then spec.import finds it).
// Resources refer to each other by the names of their objects, in fields that end
// in Ref, always within the namespace. status.id is the resource's id,
// status.resource what OpenStack last said of it, unvalidated.
//
// A field of status.resource whose JSON tag has no omitempty is shown although OpenStack
// says nothing of it: as "", 0 or false. Other fields are left out then. Which are which is
// as in the operator that the API comes from, because its users compare whole statuses.
//
// +kubebuilder:object:generate=true
// +groupName=openstack.k-orc.cloud
package v1alpha1
