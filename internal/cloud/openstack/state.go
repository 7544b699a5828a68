package openstack

import (
	"net/http"
	"regexp"
	"strings"
)

// states are texts of refusals, with code 400 or 403, for the state of another resource than
// the request's: a role that the user does not have yet, a disabled domain, a network without a
// subnet, an image that is not active. The spec is right, and the same request succeeds once
// that state has changed. Services have no code for such a refusal, so its text has to be read.
// Not among the states: policies that deny a request (403), which need other credentials, and
// unknown names, such as an availability zone's.
var states = regexp.MustCompile(`(?i)` + strings.Join([]string{
	// Keystone.
	`could not find role assignment`, `with unassigned role`, // of an application credential
	`containing a disabled project`, `has disabled parents`, `contains enabled projects`,
	`unable to (update|delete) immutable`, `immutable" option to false`,
	`maximum of \d+ already exceeded`, // application credentials of a user
	`could not find (domain|project|role|user|group|service)`, `in service table`,
	// Neutron.
	`is not (an|a valid) external network`, `does not contain any IPv4 subnet`, `requires subnets for network`,
	`overlaps with another subnet`, `overlaps with cidr`,
	`must have a gateway IP`, `has no fixed IPv4 addresses`, `does not have fixed ip`,
	`unable to find any IP address`,
	// Nova.
	`can not find requested image`, `could not be found`, `unable to find security_group`, `invalid key_name`,
	`failed to get (image|snapshot|volume)`, `is not bootable`, `is already attached`,
	`not usable for instance`, `requires a (FixedIP|subnet)`, `port_security_enabled and subnet associated`,
	`no fixed IP addresses available`, `maximum number of ports exceeded`,
	// Nova and Cinder.
	`\bin use\b`, `is not active`, `status must`, `unable to access requested image`,
}, "|"))

// isState reports whether an answer refuses a request for the state of something else.
func isState(status int, message string) bool {
	return (status == http.StatusBadRequest || status == http.StatusForbidden) && states.MatchString(message)
}
