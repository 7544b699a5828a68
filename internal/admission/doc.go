// Package admission answers the AdmissionReviews of the API server. Package admission is the operator's webhook
// server: the packs register their handlers with [Server.Register].
//
//	TLS connection -> bounded (internal/listen) -> secret path -> memory budget -> handler -> answer
//	                                                                                  \-> Origin -> effect
//
// # Who sends a review
//
// The API server usually presents no client certificate, so any client that reaches the port can send a review. A
// secret last part of the path keeps most clients out (see internal/certificate), but the API server prints that path
// to a user whose request failed. So the path decides only who gets an answer. An answer changes nothing in the
// cluster.
//
// Some reviews have an effect beyond the answer: the refused deletion that a Usage replays later. A handler asks
// [Origin.Prove] before such an effect. Origin proves that the API server has sent the review, by one of
//
//   - a client certificate that [Options.ClientCAs] verifies;
//   - an echo on the same connection. Origin sends the API server a dry run of the same request, with a random number
//     in the delete options. Only the API server can pass this number on, in a review. So the connection that brings
//     the number belongs to the API server, and with it all reviews of that connection.
//
// Example: a tenant has read the path in an error, and posts the review "kubernetes-admin deletes ConfigMap/settings".
// The tenant gets the answer "refused". Origin asks for the echo, which arrives on a connection of the API server and
// not on the tenant's. So nothing is recorded.
//
// # Memory
//
// Decoding a review takes a multiple of its size. A budget bounds the size of all reviews that are decoded at the same
// time. Small reviews have a budget of their own, so that a user who sends large objects delays nobody else. A review
// that finds no room in time is answered with 429.
package admission
