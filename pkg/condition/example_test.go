package condition_test

import (
	"fmt"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

func ExampleOf() {
	outcome := reconcile.Wait("DependencyNotFound", "waiting for %s to exist", "Network/net1").
		And(reconcile.Refuse("Invalid", "spec.cidr is no network"))
	c := condition.Of("Ready", outcome, condition.Done{Reason: "Available"}, 1)
	fmt.Printf("%s=%s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	// Output:
	// Ready=False Invalid: spec.cidr is no network; waiting for Network/net1 to exist
}
