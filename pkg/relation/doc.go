// Package relation turns "this field names that object" into a value, and derives the index, the
// wake-ups and the search for rings from this value.
//
// # A relation, declared once
//
// A [Relation] has the role of a reference ([Role]) and an [Extractor], which extracts the
// reference from the object that declares the reference. The result are edges ([Edge]): a source
// needs a target. Usually the declaring object is the source itself, as the Subnet with
// spec.networkRef below. A Usage declares an edge between two other objects.
//
//	var subnetNetwork = relation.Relation{
//		Name:     "subnet-network",
//		Role:     relation.Dependency,
//		Declarer: schema.GroupKind{Group: "openstack.k-orc.cloud", Kind: "Subnet"},
//		Extract: relation.Typed(func(s *v1alpha1.Subnet, _ relation.Kinds) []relation.Edge {
//			subnet, network := identify(s), idOf(networkKind, s.Namespace, s.Spec.NetworkRef)
//			return []relation.Edge{{
//				Declarer: subnet, Source: relation.Named(subnet), Target: relation.Named(network),
//				Role: relation.Dependency, Field: "spec.networkRef",
//			}}
//		}),
//	}
//
// A [Reference] is a Relation by field path ([Path]), without an Extractor of its own.
//
// # Ends
//
// An end of an edge is a [Ref]: one object by name, or all objects of a kind that match a
// [Selector] at the time of the question.
//
// # Index
//
// An [Index] holds the edges of every declaring object and answers in microseconds which objects
// refer to an object. An Index is a plain data structure: Index knows what was declared, and not
// which objects exist.
//
// # Watcher
//
// The [Watcher] knows which objects exist. Watcher has one metadata-only informer for each kind
// in use, starts the informer for the first user of the kind and stops the informer after the
// last user, and follows kinds that are installed and removed at run time. [Force] combines
// both: an edge is in force if the Index has the edge and the Watcher has its source.
package relation
