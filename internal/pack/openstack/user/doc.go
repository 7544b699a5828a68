// Package user is the kind User of the openstack pack. Its password is read from a
// Secret when it is set, and kept nowhere (actuator.go).
package user
