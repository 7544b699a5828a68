// Package contract holds what the openstack pack relies on, as tests through
// gophercloud: per kind how it is created, read, found, changed and deleted, and
// with which status and error a wrong request is refused.
//
// Each test runs against the emulator, always, and against real services when
// KINSHIP_OPENSTACK_CLOUDS names a clouds.yaml with the clouds openstack (a member)
// and openstack-admin. hack/openstack starts such services. A rule that the
// emulator has made up fails there; so whatever is written against the emulator is
// written against OpenStack.
package contract
