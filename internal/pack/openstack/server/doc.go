// Package server is the kind Server of the openstack pack, for /v2.1/servers of Nova. Nova
// builds a server asynchronously: until its status is ACTIVE, the operator changes nothing.
// After that, the operator corrects tags and metadata, and attaches and detaches ports and
// volumes (attach.go). Ports and volumes that other clients attached stay attached.
package server
