package external

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestOthers: of many that hold an object one is named, the same one while that one is
// there. Which one it was does not depend on texts: others may begin alike.
func TestOthers(t *testing.T) {
	r, _ := newReconciler()
	holdNetworks(&r.engine.hub)
	p := newPass()
	p.id = used
	p.Object.Finalizers = []string{held}
	holds := func(names ...string) {
		for _, name := range []string{"a", "b", "c"} {
			id := object.ID{Group: subnets.Group, Kind: subnets.Kind, Namespace: "ns", Name: name}
			r.engine.hub.index.Set(id, nil)
			if strings.Contains(fmt.Sprint(names), name) {
				r.engine.hub.index.Set(id, []relation.Edge{{
					Relation: "SubnetNetwork", Declarer: id, Target: relation.Named(used),
				}})
			}
		}
	}
	expect := func(reason, name string) {
		t.Helper()
		message := r.others(t.Context(), p).Message()
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
