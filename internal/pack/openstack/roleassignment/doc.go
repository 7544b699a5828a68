// Package roleassignment is the kind RoleAssignment of the openstack pack, for
// /v3/role_assignments of Keystone. A role assignment has no ID in Keystone: its path (role,
// user or group, project or domain) identifies it, and is the ID for pkg/external
// (actuator.go).
package roleassignment
