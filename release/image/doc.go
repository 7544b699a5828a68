// Package image builds container images of kinship as an OCI layout, without a container engine.
//
// An image contains one static program and the certificates of public authorities. The OCI layout
// depends only on the sources, Options.Version, Options.Time and the version of Go: a second
// [Build] has the same digest. The bills of materials of each program ([Bills]) and a statement
// ([Provenance]) are files beside the OCI layout.
package image
