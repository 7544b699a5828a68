// Package securitygroup is the kind SecurityGroup of the openstack pack, for
// /v2.0/security-groups of Neutron. Its rules are compared as sets (rules.go). New rules are
// added before old rules are removed.
package securitygroup
