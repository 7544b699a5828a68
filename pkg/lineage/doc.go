// Package lineage answers questions about the relationships between the objects
// of a cluster. It changes nothing, needs no operator, and says what it could
// not see.
//
// # Questions
//
//   - [Cluster.Tree]: what belongs to an object, or what it belongs to.
//   - [Cluster.Users]: who uses an object, and does that protect it now.
//   - [Cluster.Explain]: why is an object not ready, or still there, and who has
//     to do what next.
//
// # Where edges come from
//
// Owner edges come from owner references and are matched by uid: an owner that
// was made anew under the old name owns nothing of the old one. All other edges
// come from values: each [relation.Relation] names the kind whose objects declare
// edges and extracts them. Give New another relation, and every question knows it.
//
//	cluster, err := lineage.New(ctx, config, lineage.Options{
//		Relations: usage.Relations(),
//		Decode:    decode,
//	})
//	root, err := cluster.Find(ctx, "deployment/web", "", "prod")
//	tree, err := cluster.Tree(ctx, root, lineage.TreeOptions{})
//
// # What it costs
//
// A [Cluster] is a view for one question: it reads nothing twice and is thrown
// away afterwards. Kinds are listed in parallel as metadata, in pages. Whole
// objects are read only where their status is shown: one by one, or by one more
// list of their kind where that is cheaper.
//
// # What is enforced
//
// What an operator wrote into a condition may be long ago. Whether the deletion of an object is
// refused now, only the API server knows: it is asked by a server-side dry run ([Trial]) as the
// caller. An example is a Usage that reports Ready while somebody has deleted the webhook
// configuration.
//
// # What it cannot see
//
// A kind that may not be listed, or whose server does not answer, is left out
// and named in the answer ([Skipped]). An answer that names skipped kinds is
// true, but not the whole truth.
package lineage
