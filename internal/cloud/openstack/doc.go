// Package openstack is how the openstack pack reaches OpenStack: from the Secret
// that an object names to a client of one service, and from an error to what it
// means.
//
//	cloud, err := openstack.ParseCloud(secret.Data, "openstack")
//	scope, err := clouds.Scope(ctx, cloud)
//	network, err := scope.Network(ctx)
//	created, err := networks.Create(ctx, network, opts).Extract()
//	switch openstack.Classify(err).Class {
//	case openstack.NotFound: ...
//
// The calls themselves are gophercloud's. What is here is what an operator needs
// around them and gophercloud leaves to its users:
//
//   - [Clouds] keeps one authenticated [Scope] per distinct entry of a clouds.yaml,
//     logs in once however many ask at the same time, and remembers a refusal for a
//     moment, so that a wrong password in one Secret, or one that was changed in
//     Keystone, can't lock an account.
//   - A [Scope] looks up and probes each service's endpoint once.
//   - One limiter per cloud, shared by all credentials for it, paces the calls and has
//     few under way to a service at once. Tenants have fair shares of these, and Retry-After
//     is heeded for the tenant that was told.
//   - [Classify] is the only place that looks at status codes and error bodies.
//
// Nothing outside the Secret is read: no environment variable, and no file that
// the entry names, since whoever writes the Secret is not who runs the operator.
package openstack
