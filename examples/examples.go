// Package examples holds the manifests that the documentation, the tests and
// `kinship up` use, one folder for each pack. Every file is applied by a test.
//
// The folder usage has the manifests of seed 3 as they stand there. What its
// README.md and docs/decisions/0004-seed-3-slips.md list was corrected. The folder
// iot has those of seed 2, with their placeholders filled in. The folder openstack
// has a stack of seed 4's kinds, and the folder azure one of seed 1's. The folder oam
// has the application of seed 5, another one of the kinds of the pack, and two
// controllers.
package examples

import "embed"

// Usage are the examples of the pack usage, in the folder of that name.
//
//go:embed usage/*.yaml
var Usage embed.FS

// Iot are the examples of the pack iot, in the folder of that name.
//
//go:embed iot/*.yaml
var Iot embed.FS

// Openstack are the examples of the pack openstack, in the folder of that name.
//
//go:embed openstack/*.yaml
var Openstack embed.FS

// Azure are the examples of the pack azure, in the folder of that name.
//
//go:embed azure/*.yaml
var Azure embed.FS

// Oam are the examples of the pack oam, in the folder of that name.
//
//go:embed oam/*.yaml
var Oam embed.FS
