package usage_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/test/operator"
)

// testPasses counts the passes of controller usage for new Usages, and for Usages that end. The
// test makes one write for each new Usage (the creation) and one for each Usage that ends (the
// deletion of the using object, after which the operator deletes the Usage). One pass more is
// allowed for each.
func testPasses(t *testing.T) {
	w := newWorld(t)
	w.alone()
	const n = 20
	w.create(configMap("warm-up"))
	first := protects("warm-up", named("warm-up"), "kind ConfigMap is confirmed, and the namespace is locked")
	w.create(first)
	w.ready(first)
	using, used := make([]client.Object, n), make([]client.Object, n)
	for i := range n {
		using[i], used[i] = configMap(fmt.Sprintf("using%d", i)), configMap(fmt.Sprintf("used%d", i))
		w.create(used[i], using[i])
	}
	w.awaitProcessed()
	passes := func() float64 {
		return operator.Metrics(t, "controller_runtime_reconcile_total", "controller")["usage"]
	}
	before := passes()
	usages := make([]usage, n)
	for i := range usages {
		usages[i] = uses(fmt.Sprintf("u%d", i), named(using[i].GetName()), named(used[i].GetName()))
		w.create(usages[i])
	}
	w.ready(usages...)
	w.awaitProcessed()
	// awaitProcessed adds the passes of one more Usage.
	created := passes()
	t.Logf("%g passes for %d new Usages", created-before, n)
	if got := created - before; got > 2*n+6 {
		t.Errorf("%g passes for %d new Usages, want at most 2 for each", got, n)
	}
	w.Delete(using...)
	for i, u := range usages {
		w.Gone(u)
		w.free(used[i])
	}
	w.awaitProcessed()
	t.Logf("%g passes for the end of %d Usages", passes()-created, n)
}
