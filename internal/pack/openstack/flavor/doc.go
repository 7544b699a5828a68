// Package flavor is the kind Flavor of the openstack pack, for /v2.1/flavors of Nova. The spec
// may choose the ID (spec.resource.id). Only the extra specs of a flavor can be changed
// ([kit.Table.Specs]).
package flavor
