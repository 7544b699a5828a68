// Package server is the kind Server of the openstack pack. Nova makes a server in its
// own time: until it is ACTIVE, nothing of it is changed. From then on its tags and
// metadata are kept as the spec says, and its ports and volumes are attached and
// detached (attach.go). What others attached stays.
package server
