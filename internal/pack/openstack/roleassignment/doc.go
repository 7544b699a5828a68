// Package roleassignment is the kind RoleAssignment of the openstack pack. Its
// resource has no id: Keystone knows it by the path of who has which role on what,
// and so does the engine (actuator.go).
package roleassignment
