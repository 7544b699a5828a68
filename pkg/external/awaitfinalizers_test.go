package external

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestOthers: awaitFinalizers names a single source of a guard, and keeps the choice while the source
// refers to the object. The choice is in memory.named, and not in the text of the condition, which a user
// may write.
func TestOthers(t *testing.T) {
	r, _ := newReconciler()
	addSubnets(r.engine)
	p := newPass()
	p.id = used
	p.Object.Finalizers = []string{held}
	holds := func(names ...string) {
		for _, name := range []string{"a", "b", "c"} {
			subnet := &openstackv1alpha1.Subnet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
			change := watch.Change[client.Object]{Old: subnet}
			if slices.Contains(names, name) {
				change = watch.Change[client.Object]{New: subnet}
			}
			r.engine.core.Observe(subnets.GroupKind(), change)
		}
	}
	expect := func(reason, name string) {
		t.Helper()
		message := r.awaitFinalizers(t.Context(), p).Message()
		want := "Waiting for Subnet/" + name + " to be deleted: it holds finalizer " + held
		if message != want {
			t.Errorf("%s: %q, want %q", reason, message, want)
		}
		p.Object.Status.Conditions = []metav1.Condition{{Type: condition.Progressing, Message: message}}
	}
	holds("b", "c")
	p.Object.Status.Conditions = []metav1.Condition{{
		Type: condition.Progressing, Message: "A user wrote: Waiting for Subnet/c to be deleted",
	}}
	expect("only what it said itself counts", "b")
	holds("a", "b", "c")
	expect("one more holds it", "b")
	holds("a", "c")
	expect("the one named is gone", "a")
}

func resultOf(t *testing.T, o reconcile.Outcome) ctrl.Result {
	t.Helper()
	result, err := o.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}
