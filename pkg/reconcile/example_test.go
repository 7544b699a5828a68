package reconcile_test

import (
	"context"
	"fmt"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// subnet is the state that the steps work on.
type subnet struct{ missing []string }

func resolve(_ context.Context, s *subnet) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, name := range s.missing {
		outcome = outcome.And(reconcile.Wait("DependencyNotFound", "waiting for %s to exist", name))
	}
	return outcome
}

func create(context.Context, *subnet) reconcile.Outcome {
	fmt.Println("created")
	return reconcile.Outcome{}
}

// A step that waits names all awaited objects at once, and the steps after it do not run.
func ExampleRun() {
	for _, s := range []*subnet{{missing: []string{"Network/net1", "Router/r1"}}, {}} {
		outcome := reconcile.Run(context.Background(), s,
			reconcile.Step[*subnet]{Name: "resolve", Run: resolve}, reconcile.Step[*subnet]{Name: "create", Run: create})
		fmt.Println(outcome.IsDone(), outcome.Message())
	}
	// Output:
	// false waiting for Network/net1 to exist; waiting for Router/r1 to exist
	// created
	// true
}
