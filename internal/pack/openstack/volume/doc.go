// Package volume is the kind Volume of the openstack pack. A Server attaches and detaches
// volumes, not the Volume.
package volume
