// Package applicationcredential is the kind ApplicationCredential of the openstack
// pack. Its secret is read from a Secret when it is made, and kept nowhere. Nothing of
// it can be changed.
package applicationcredential
