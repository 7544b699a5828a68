// Package volumetype is the kind VolumeType of the openstack pack. Its extra specs are changed
// with requests of their own (actuator.go).
package volumetype
