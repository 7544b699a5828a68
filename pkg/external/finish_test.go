package external

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestOthers: of many that hold an object one is named, the same one while that one is
// there. Which one it was does not depend on texts: others may begin alike.
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

// TestUnderwayEnds: the wait for an attempt of a process that was killed ends when it is over, by
// the last of its looks. It goes on after a restart, if the intent tells when the attempt was.
func TestUnderwayEnds(t *testing.T) {
	for _, c := range []struct {
		reason string
		tried  time.Duration // since then; 0 means that the intent does not tell
		want   time.Duration
	}{
		{"an earlier release does not tell", 0, unknownEnd},
		{"a moment ago", time.Millisecond, unknownEnd - time.Millisecond},
		{"another process has waited for most of it", 8 * time.Second, 2 * time.Second},
		{"it is over", time.Minute, 0},
		{"another machine's clock is ahead", -time.Minute, unknownEnd},
	} {
		r, clock := newReconciler()
		p := newPass()
		p.Object.UID = "u"
		began, looks := clock.Now(), 0
		i := intent{UID: "u", Time: began.Add(-time.Hour)}
		if c.tried != 0 {
			i.Tried = began.Add(-c.tried)
		}
		text, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		p.Object.Annotations = map[string]string{r.annotation(): string(text)}
		for {
			o := r.underway(p)
			if o.IsDone() {
				break
			}
			if looks++; looks > 10 {
				t.Fatalf("%s: it waits after %d looks in %s", c.reason, looks, clock.Now().Sub(began))
			}
			clock.SetTime(clock.Now().Add(resultOf(t, o).RequeueAfter))
		}
		if took := clock.Now().Sub(began); took != c.want {
			t.Errorf("%s: the wait took %s, want %s", c.reason, took, c.want)
		}
	}
}

func resultOf(t *testing.T, o reconcile.Outcome) ctrl.Result {
	t.Helper()
	result, err := o.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}
