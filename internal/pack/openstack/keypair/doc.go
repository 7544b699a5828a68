// Package keypair is the kind KeyPair of the openstack pack. Its name is its id,
// and nothing of it can be changed.
package keypair
