// Package volumetype is the kind VolumeType of the openstack pack. Its extra specs
// are changed by requests of their own (actuator.go).
package volumetype
