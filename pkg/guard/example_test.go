package guard_test

import (
	"fmt"

	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
)

func ExampleRefusal() {
	usage := object.ID{Group: "protection.crossplane.io", Kind: "ClusterUsage", Name: "release-uses-cluster"}
	refusal := guard.Refusal{
		Target:   object.ID{Group: "eks.upbound.io", Kind: "Cluster", Name: "my-cluster"},
		Blockers: []guard.Blocker{{By: "Release/my-prometheus-chart", Declarer: usage}},
	}
	status := refusal.Status()
	fmt.Println(status.Code, status.Message)
	for _, cause := range status.Details.Causes {
		fmt.Println(cause.Type, cause.Message, cause.Field)
	}
	// Output:
	// 409 The resource is used by 1 resource(s): Release/my-prometheus-chart (ClusterUsage release-uses-cluster).
	// InUse Release/my-prometheus-chart ClusterUsage.protection.crossplane.io//release-uses-cluster
}
