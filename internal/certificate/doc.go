// Package certificate keeps the serving certificate of the operator's webhooks,
// and the certificate authority (CA) by which the API server verifies it.
//
// One Secret is the truth that all replicas share. A [Manager] in every replica
// reads it, serves the certificate in it from memory, and writes it when
// something is due; whoever writes first wins and the others read again, so no
// leader is needed. Two replicas that start at once end with one CA.
//
//	ca.crt          every CA to trust, PEM; the webhook configurations' caBundle
//	ca.key          key of the CA that signs the serving certificate
//	next-ca.key     key of the CA that will sign the next one, during phase 1
//	tls.crt tls.key the serving certificate
//	path            last part of the webhooks' paths, known to the API server alone
//	rotation.json   bookkeeping; also the mark that the Secret is ours
//
// # Rotation without a gap
//
// The API server and the replicas learn of a change at different moments. So a
// new CA comes in steps, and whoever is one step behind or ahead still succeeds:
//
//	phase         the bundle trusts   the serving certificate is of
//	0 steady      the old CA alone    the old CA
//	1 announced   both                the old CA
//	2 switched    both                the new CA
//	3 retired     the new CA alone    the new CA
//
// Phase 2 begins when OnBundle has written the wider bundle into the webhook
// configurations and the propagation delay has passed. Phase 3 begins when the
// last serving certificate that the old CA signed has expired: until then a
// replica that lost touch with the API server may still present it. RetireAfter
// shortens that, for a CA that is to be distrusted soon.
//
// The phase is in the Secret. A restart, or another replica, continues where the
// last one stopped. A new serving certificate from the same CA needs no phases.
//
// A Secret that is deleted while a replica runs is written again from that
// replica's memory with a rotation begun, so the keys change and no admission
// fails. A Secret with foreign content is refused, never overwritten.
//
// # What it costs
//
// One watch limited to the one Secret and one timer set to the moment something
// is next due. Between those, no request is made.
//
// # Why this is our own
//
// The usual library, open-policy-agent/cert-controller, issues certificates for
// DNS names alone, and an operator that runs outside the cluster is called by
// its IP address. It also replaces the CA in one step, without the overlap
// above; every call between that step and its arrival in all API servers fails,
// which for failurePolicy Fail means that writes to protected objects fail.
//
// # Permissions
//
// Create on Secrets in the namespace; get, list, watch and update on the one
// Secret by resourceNames, which the field selector of list and watch satisfies.
package certificate
