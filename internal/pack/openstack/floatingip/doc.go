// Package floatingip is the kind FloatingIP of the openstack pack.
package floatingip
