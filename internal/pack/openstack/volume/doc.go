// Package volume is the kind Volume of the openstack pack, for /v3/PROJECT_ID/volumes of
// Cinder. A Server attaches and detaches volumes, not the Volume.
package volume
