// Package trunk is the kind Trunk of the openstack pack, for /v2.0/trunks of Neutron. Its
// subports are changed with add_subports and remove_subports (actuator.go).
package trunk
