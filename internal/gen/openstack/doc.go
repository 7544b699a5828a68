// Package openstack generates the repeated shape of the API types of api/openstack/v1alpha1.
//
// [Kinds] is the table. For each kind of it [Package] declares the object with its markers and
// printer columns, the list, the spec, the import, the status and the getters, and AddToScheme
// for all. A new kind is a line in the table, and in api/openstack/v1alpha1 a file KIND_types.go
// with KINDResourceSpec, KINDFilter and KINDResourceStatus.
//
// Plurals aren't in the table: controller-gen derives them from the kind.
package openstack
