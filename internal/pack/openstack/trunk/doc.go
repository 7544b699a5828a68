// Package trunk is the kind Trunk of the openstack pack. Its subports are changed
// by requests of their own (actuator.go).
package trunk
