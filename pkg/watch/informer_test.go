package watch_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/watch"
)

// TestHandler hands each kind of event to a handler, as an informer does.
func TestHandler(t *testing.T) {
	var got []string
	h := watch.Handler(func(c watch.Change[client.Object]) {
		name := func(o client.Object) string {
			if o == nil {
				return "-"
			}
			return o.GetName()
		}
		got = append(got, fmt.Sprintf("%s %s came %t went %t missed %t",
			name(c.Old), name(c.New), c.Created(), c.Deleted(), c.Missed))
	})
	one, two := named("one"), named("two")
	h.OnAdd(one, true)
	h.OnUpdate(one, two)
	h.OnDelete(two)
	h.OnDelete(toolscache.DeletedFinalStateUnknown{Key: "one", Obj: one})
	want := []string{
		"- one came true went false missed false",
		"one two came false went false missed false",
		"two - came false went true missed false",
		"one - came false went true missed true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func named(name string) *corev1.Pod { return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}} }
