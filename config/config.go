// Package config holds the generated manifests, for the binary to install.
package config

import "embed"

// Definitions are the CustomResourceDefinitions, in files named after them:
// crd/GROUP_PLURAL.yaml.
//
//go:embed crd/*.yaml
var Definitions embed.FS
