// Package role is the kind Role of the openstack pack.
package role
