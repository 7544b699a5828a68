// Package sign signs images and statements with a private key, and verifies both with the public
// key.
//
// [Image] writes a signature in the form of cosign's simple signing: a manifest beside the image,
// with the tag sha256-DIGEST.sig. [Statement] returns a DSSE envelope.
package sign
