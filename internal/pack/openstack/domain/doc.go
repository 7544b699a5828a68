// Package domain is the kind Domain of the openstack pack.
package domain
