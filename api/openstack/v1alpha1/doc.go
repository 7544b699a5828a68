// Package v1alpha1 is the API group openstack.k-orc.cloud: a kind for each type of OpenStack
// resource.
//
// Every kind has the same shape. spec.cloudCredentialsRef names a Secret with a clouds.yaml. With
// spec.managementPolicy managed, spec.resource describes the resource; with unmanaged, spec.import
// finds an existing resource. Fields that end in Ref name objects in the same namespace. status.id
// is the resource's id, status.resource the state that OpenStack last reported, not validated.
//
// If OpenStack does not report a field of status.resource, the field is shown as "", 0 or false if
// its JSON tag has no omitempty, and left out otherwise. The tags equal those of the operator that
// the API comes from, because its users compare whole statuses.
//
// zz_generated.kinds.go has the parts that all kinds repeat: object, list, spec, import, status and
// getters. KIND_types.go has the resource's spec, filter and status.
//
// +kubebuilder:object:generate=true
// +groupName=openstack.k-orc.cloud
package v1alpha1
