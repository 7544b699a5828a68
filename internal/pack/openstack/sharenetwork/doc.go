// Package sharenetwork is the kind ShareNetwork of the openstack pack.
package sharenetwork
