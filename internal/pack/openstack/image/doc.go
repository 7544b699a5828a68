// Package image is the kind Image of the openstack pack. Glance is asked to download
// the content by itself where it can (content.go); else, and wherever a hash is to be
// verified or something decompressed, the content is streamed to it (stream.go), in a
// pool of its own.
package image
