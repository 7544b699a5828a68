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
//   - [ParseID] refuses malformed ids that azcore accepts, and [ID.Child] builds ids of every
//     [Scope]: tenant, management group, subscription, resource group, and extensions of a
//     resource.
//   - [Client] never waits. An [Operation] that ARM began is a plain value, which one process
//     may store and another process may poll. azcore's Poller would store a token for one Go
//     type, and would always read the resource at the end.
//   - Answers are bounded: at most 8 MiB, within [Options.Timeout]. The [Client] follows
//     redirects and addresses of operations only to the same host: the next request would send
//     the credentials there.
//   - Only [Classify] interprets HTTP statuses and error codes.
package azure
