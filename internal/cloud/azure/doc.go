// Package azure is the client of Azure Resource Manager (ARM) for the pack azure: an [ID] for each
// resource, and a [Client] that reads, writes and deletes any resource by [ID].
//
//	client, err := azure.NewClient(azure.Options{Endpoint: endpoint, Credential: credential})
//	id, err := azure.ParseID("/subscriptions/S/resourceGroups/rg/providers/Microsoft.Network/virtualNetworks/net")
//	answer, err := client.Put(ctx, id, "2020-03-01", body, azure.Condition{})
//	for answer.Operation != nil { // after answer.After, also in another process
//		answer, err = client.Poll(ctx, *answer.Operation)
//	}
//	switch azure.Classify(err).Class {
//	case azure.AwaitReference: ...
//
// azcore does the authentication, the pipeline and the parsing of ids. The package adds the
// following.
//
//   - [ParseID] refuses ids that azcore reads in some way or other, and [ID.Child] builds ids of every
//     scope: tenant, management group, subscription, resource group, and extensions of a resource.
//   - [Client] never waits. An [Operation] that ARM began is a plain value, which a process may keep
//     and the next one resumes. azcore's Poller would keep a token for one Go type, and read the
//     resource at the end whether or not the caller wants that.
//   - Answers are bounded: at most 8 MiB, within [Options.Timeout]. Redirects and the addresses of operations
//     lead to the same host only: the credentials of the next request would be sent there.
//   - [Compare] compares the body of a resource with another as ARM does: ids and names in any case, for example.
//   - [Classify] is the only place that looks at statuses and error codes.
package azure
