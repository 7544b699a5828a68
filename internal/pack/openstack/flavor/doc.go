// Package flavor is the kind Flavor of the openstack pack. Its id may be chosen.
// Nothing but its extra specs can be changed (actuator.go).
package flavor
