// Package keypair is the kind KeyPair of the openstack pack, for /v2.1/os-keypairs of Nova. The
// ID of a key pair is its name, and no field of a key pair can be changed.
package keypair
