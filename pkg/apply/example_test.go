package apply_test

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// A controller applies the objects that its parent wants, and keeps the inventory in the
// parent's status.
func ExampleApplier_Apply() {
	reconcile := func(ctx context.Context, a *apply.Applier, parent client.Object, have []apply.Entry,
		want []apply.Object, record func(context.Context, []apply.Entry) error,
	) error {
		result, err := a.Apply(ctx, apply.Request{
			Owner: metav1.OwnerReference{APIVersion: "v1", Kind: "Parent", Name: parent.GetName(), UID: parent.GetUID()},
			Have:  have, Want: want, Record: record,
		})
		fmt.Println(result.Changes)
		if err != nil {
			return err
		}
		return record(ctx, result.Inventory)
	}
	_ = reconcile
}

func ExampleChangeSet_String() {
	deployment := func(name string) object.ID { return object.ID{Group: "apps", Kind: "Deployment", Name: name} }
	fmt.Println(apply.ChangeSet{
		{ID: deployment("a"), Action: apply.Unchanged},
		{ID: deployment("b"), Action: apply.Created},
		{ID: deployment("c"), Action: apply.Pruned},
	})
	fmt.Println(apply.ChangeSet{})
	// Output:
	// created Deployment/b; 1 unchanged; pruned Deployment/c
	// nothing
}
