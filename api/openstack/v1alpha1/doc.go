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
// +kubebuilder:object:generate=true
// +groupName=openstack.k-orc.cloud
package v1alpha1
