// Package certificate keeps the serving certificate of the operator's webhooks, and the
// certificate authority (CA) by which the API server verifies that certificate.
//
// All replicas share one Secret. The [Manager] of each replica reads the Secret, serves its
// certificate from memory, and writes the Secret when a step is due. The API server's
// optimistic lock (resourceVersion) decides between replicas that write at the same time: the
// first write wins, and the other replicas read again. There is no leader.
//
//	ca.crt          every CA to trust, PEM; the caBundle of the webhook configurations
//	ca.key          key of the CA that signed the serving certificate
//	next-ca.key     key of the next CA, in phase 1
//	tls.crt tls.key the serving certificate
//	path            last part of the webhooks' URL paths, which only the API server should know
//	rotation.json   times of the rotation; only a Secret of this package has this key
//
// # Renewal
//
// The serving certificate is renewed at half of its 90 days, by the same CA. A process that
// slept until after the end of the certificate, on a laptop whose lid was closed, renews the
// certificate within a minute of waking: timers stand still during sleep, so the time of day is
// compared with the next step once a minute.
//
// # Rotation without a gap
//
// The CA is replaced 135 days before the end of its ten years, or when the Secret is
// deleted while a replica runs. The API servers and the replicas see a change at different
// moments, so the CA changes in phases. The bundles of the former and the next phase trust the
// certificate of each phase:
//
//	phase         the bundle trusts   the serving certificate is signed by
//	0 steady      the old CA          the old CA
//	1 announced   both CAs            the old CA
//	2 switched    both CAs            the new CA
//	3 retired     the new CA          the new CA
//
// Phase 2 begins when [Options.OnBundle] has written the bundle of phase 1 into the webhook
// configurations and the propagation delay has passed. Phase 3 begins 90 days later, when
// every certificate of the old CA has expired: a replica that cannot reach the API server may
// serve such a certificate until then. The phase is in the Secret, so a restarted replica
// continues with this phase.
//
// A deleted Secret is written again from the memory of a replica, with a new CA announced.
// A Secret with data of another writer is refused and never overwritten.
//
// # Path
//
// The API server prints the URL of a webhook to a user whose request fails because the webhook did not answer: the
// operator is down, or too slow. So a replica replaces the path when it starts ([Manager.Begin]), with each
// certificate, when a caller gave up on a call ([Manager.Suspect]), and when an administrator removes the key path
// from the Secret. A replica accepts the former path until [Options.OnBundle] has written the new one, and 2 seconds
// more. A replica that is called with an unknown path reads the Secret, at most once a second.
//
// # Requests
//
// One watch of one Secret. Between two steps there is no other request, apart from one GET each
// time the API server ends the watch (every half hour or more).
//
// # Why no library
//
// The usual library, open-policy-agent/cert-controller, issues certificates for DNS names
// only; the API server calls an operator outside the cluster by its IP address. The library
// also replaces the CA in one step. Admission requests fail between that step and its arrival
// in every API server, and a failed request refuses the deletion of a protected object.
//
// # Permissions
//
// create on secrets in the namespace; get, watch and update on the Secret by resourceNames. A
// watch with the field selector metadata.name needs no more.
package certificate
