// Package lineage answers questions about the relationships between the objects of a
// cluster. Package lineage changes nothing, needs no operator, and names the objects that
// it could not see.
//
// # Questions
//
//   - [Cluster.Tree]: which objects does an object own, or which objects own it?
//   - [Cluster.Users]: which objects use an object, and does a Usage protect it now?
//   - [Cluster.Explain]: why is an object not ready, or why does it still exist, and which
//     step ends that?
//
// # Edges
//
// Owner edges come from metadata.ownerReferences and are matched by uid: an owner that was
// deleted and created again under the same name owns none of the old objects. All other
// edges come from values: each [relation.Relation] names the kind whose objects declare
// edges, and extracts the edges. A further Relation in [Options] appears in all answers.
//
//	cluster, err := lineage.New(ctx, config, lineage.Options{
//		Relations: usage.Relations(),
//		Decode:    decode,
//	})
//	root, err := cluster.Find(ctx, "deployment/web", "", "prod")
//	tree, err := cluster.Tree(ctx, root, lineage.TreeOptions{})
//
// [graph.Unfold], [graph.Levels], [graph.Walk] and [graph.Path] search along the edges.
//
// # Cost
//
// A [Cluster] is a view for one question: it reads no object twice, and the caller drops it
// afterwards. Kinds are listed in parallel, in pages, as metav1.PartialObjectMetadata.
// Whole objects are read only where their status is shown: by a GET request each, or by a
// list of their kind where a list is cheaper.
//
// # Enforcement
//
// A condition such as Effective=True may be old. Only the API server knows whether it
// refuses a deletion now, so lineage sends a DELETE request with dryRun=All as the caller
// ([Trial]). An example is a Usage with Ready=True whose ValidatingWebhookConfiguration was
// deleted.
//
// # Limits
//
// A kind that the caller may not list, or whose server does not answer, is left out and
// named in the answer ([Skipped]). An answer with Skipped kinds is correct and may be
// incomplete.
package lineage
