// Package image builds container images of kinship as an OCI layout, without a container engine.
//
// An image contains one static program and the certificates of public authorities. The layout depends
// only on the sources, the version, the time of the commit and the version of Go: a second build has the
// same digest. The bills of materials of each program and a provenance statement are files beside the
// layout.
package image
