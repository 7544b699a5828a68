// Package sign signs images and statements with a private key, and verifies both with the public key.
//
// An image signature has the form of cosign's simple signing: a manifest beside the image, whose tag is
// sha256-DIGEST.sig. A statement is signed as a DSSE envelope.
package sign
