// Package applicationcredential is the kind ApplicationCredential of the openstack pack, for
// /v3/users/USER_ID/application_credentials of Keystone. The actuator reads the secret from the
// Secret of spec.resource.secretRef for POST, and does not keep the value. No field of an
// application credential can be changed.
package applicationcredential
