// Package sharenetwork is the kind ShareNetwork of the openstack pack, for /v2/share-networks
// of Manila.
package sharenetwork
