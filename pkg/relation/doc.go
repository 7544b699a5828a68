// Package relation turns "this field names that object" into a value which
// everything else derives from.
//
// # A relation, declared once
//
// A [Relation] says what role a reference plays and how to extract it from the
// object that declares it. What comes out are edges: a source, which needs a
// target. Usually the declaring object is the source itself; a Usage declares
// an edge between two other objects.
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
// # Ends
//
// An end of an edge is a [Ref]: one object by name, or the set of all objects
// of a kind that match a [Selector] at any time.
//
// # Index
//
// An [Index] holds the edges of every declaring object and answers in
// microseconds who refers to an object. It is a plain data structure: it knows
// what was declared, never what exists.
//
// # Watcher
//
// What exists is known by the [Watcher]. It keeps one metadata-only informer for
// each kind that is in use, starts it when the first user comes and stops it
// when the last one goes, and follows kinds that appear and vanish while it
// runs. Deciding means to put the two together: an edge is in force if it is
// declared in the index and its ends exist in the watcher.
package relation
