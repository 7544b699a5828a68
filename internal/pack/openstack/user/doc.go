// Package user is the kind User of the openstack pack, for /v3/users of Keystone. The actuator
// reads the password from the Secret of spec.resource.passwordRef for each request, and does
// not keep it (actuator.go).
package user
