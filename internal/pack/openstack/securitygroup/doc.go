// Package securitygroup is the kind SecurityGroup of the openstack pack. Its rules
// are compared as sets (rules.go): what is new is added before what is old goes.
package securitygroup
