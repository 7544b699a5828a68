// Package image builds container images of kinship as an OCI layout, without a container engine.
//
// An image has one static program, certificates of public authorities, and nothing else. The layout
// depends on the sources, the version and the time of the commit alone: who builds again gets the same
// digest. Beside the layout are the bills of materials of each program and a provenance statement.
package image
