// Package image is the kind Image of the openstack pack, for /v2/images of Glance. Glance
// downloads the content itself if Glance offers web-download (content.go). Otherwise, and for a
// content with a hash or a compression, the operator streams the content to Glance (stream.go),
// with limits of its own (uploads).
package image
