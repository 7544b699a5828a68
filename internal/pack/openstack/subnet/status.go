package subnet

// names are the fields with another name in OpenStack.
var names = map[string]string{
	"subnetPoolID":       "subnetpool_id",
	"hostRoutes.nextHop": "nexthop",
	"dnsPublishFixedIP":  "dns_publish_fixed_ip",
	"ipv6.addressMode":   "ipv6_address_mode",
	"ipv6.raMode":        "ipv6_ra_mode",
}
