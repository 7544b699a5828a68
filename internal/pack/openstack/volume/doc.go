// Package volume is the kind Volume of the openstack pack. That it is attached to a
// server is the Server's business.
package volume
