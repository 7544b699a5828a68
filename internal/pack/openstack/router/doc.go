// Package router is the kind Router of the openstack pack.
package router
