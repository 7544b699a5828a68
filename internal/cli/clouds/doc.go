// Package clouds has the commands about the kinds of one pack: `kinship azure`, `kinship openstack` and `kinship iot`.
// They enable kinds, and move resources between Kinship and other tools.
package clouds
