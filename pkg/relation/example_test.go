package relation_test

import (
	"fmt"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Which objects refer to a Network? A subnet by name, and a policy by label.
func ExampleIndex() {
	network := relation.Object{
		ID:     object.ID{Kind: "Network", Namespace: "n", Name: "net1"},
		Labels: map[string]string{"zone": "a"},
	}
	subnet := object.ID{Kind: "Subnet", Namespace: "n", Name: "sub1"}
	policy := object.ID{Kind: "Policy", Name: "keep-zone-a"}

	var index relation.Index
	index.Set(subnet, []relation.Edge{{
		Relation: "subnet-network", Role: relation.Dependency, Declarer: subnet, Field: "spec.networkRef",
		Source: relation.Named(subnet), Target: relation.Named(network.ID),
	}})
	index.Set(policy, []relation.Edge{{
		Relation: "policy", Role: relation.Usage, Declarer: policy, Field: "spec.selector",
		Target: relation.Ref{
			ID: object.ID{Kind: "Network"}, Selector: &relation.Selector{Labels: map[string]string{"zone": "a"}},
		},
	}})
	for _, e := range index.Targeting(network) {
		fmt.Printf("%s: %s\n", e.Declarer, e.Target)
	}

	index.Set(subnet, nil) // The subnet stops referring.
	fmt.Println(len(index.Targeting(network)), "left")
	// Output:
	// Policy/keep-zone-a: every Network that matches zone=a
	// Subnet/sub1 in namespace n: Network/net1 in namespace n
	// 1 left
}
