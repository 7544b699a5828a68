package external

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// TestDrift: fields that no request can change are in status.drift, at most maxDrift of them. A change of
// the list has an event; the same list has none.
func TestDrift(t *testing.T) {
	w, n := newNews(t, true)
	drift := make([]string, 0, maxDrift+1)
	for i := range maxDrift + 1 {
		drift = append(drift, fmt.Sprintf("field %d", i))
	}
	w.r.kind.Drifts = func(Input[netKind], string) []string { return drift }
	w.create("a")
	w.pass("a")
	if got := w.read("a").Status.Drift; !slices.Equal(got, drift[:maxDrift]) {
		t.Errorf("status.drift is %q", got)
	}
	text := condition.DriftMessage("resource", drift[:maxDrift])
	n.expect(t, "created with drift", "a Warning Drifted Compare "+text,
		"a Normal Created Create resource blue-a was created")
	w.edit("a")
	w.pass("a")
	n.expect(t, "the same drift")
	drift = drift[:1]
	w.edit("a")
	w.pass("a")
	n.expect(t, "less drift", "a Warning Drifted Compare "+condition.DriftMessage("resource", drift))
	drift = nil
	w.edit("a")
	w.pass("a")
	n.expect(t, "no drift")
	if got := w.read("a").Status.Drift; len(got) > 0 {
		t.Errorf("status.drift is %q", got)
	}
}

// TestComposed: [Kind.Compose] runs when the resource exists, and the object waits for the composed objects.
// [Kind.Dissolve] ends before the resource is deleted.
func TestComposed(t *testing.T) {
	w := newToyWorld(t, true)
	var composed, dissolved reconcile.Outcome
	var ran []string
	w.r.kind.Compose = func(_ context.Context, in Input[netKind]) reconcile.Outcome {
		ran = append(ran, "compose "+*in.Object.Status.ID)
		return composed
	}
	w.r.kind.Dissolve = func(_ context.Context, n netKind) reconcile.Outcome {
		ran = append(ran, "dissolve "+n.Name)
		return dissolved
	}
	composed = reconcile.Wait(condition.ReasonProgressing, "Waiting for Part/a to be ready")
	w.create("a")
	w.pass("a")
	const waits = "blue-a Waiting for Part/a to be ready\nWaiting for resource to be ready"
	w.expect("a part is missing", states{"a": waits}, "GET /things/blue-a", "PUT /things/blue-a")
	composed = reconcile.Refuse(condition.ReasonInvalidConfiguration, "a person made Part/a")
	w.pass("a")
	w.expect("a part is refused", states{"a": "blue-a a person made Part/a"}, "GET /things/blue-a")
	composed = reconcile.Outcome{}
	w.edit("a")
	w.pass("a")
	w.expect("the part is ready", states{"a": "blue-a"}, "GET /things/blue-a")
	dissolved = reconcile.Wait(condition.ReasonDeleting, "Waiting for Part/a to be deleted")
	w.delete("a")
	w.pass("a")
	w.expect("the part is still there", states{"a": "blue-a Waiting for Part/a to be deleted"})
	dissolved = reconcile.Outcome{}
	w.pass("a")
	w.expect("the part is gone", states{"a": "gone"}, "DELETE /things/blue-a")
	if got := strings.Join(ran, ", "); got != "compose blue-a, compose blue-a, compose blue-a, dissolve a, dissolve a" {
		t.Errorf("ran %s", got)
	}
}

// TestNotComposed: an imported resource belongs to another client, so nothing is composed, and no drift is
// reported.
func TestNotComposed(t *testing.T) {
	w := newToyWorld(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.r.kind.Compose = func(context.Context, Input[netKind]) reconcile.Outcome {
		t.Error("composed")
		return reconcile.Outcome{}
	}
	w.r.kind.Drifts = func(Input[netKind], string) []string { return []string{"a is 1, not 2"} }
	w.importer("a")
	w.pass("a")
	w.expect("imported", states{"a": "blue-a"}, "GET /things/blue-a")
	if got := w.read("a").Status.Drift; len(got) > 0 {
		t.Errorf("status.drift is %q", got)
	}
}

// TestDeletionFails: a resource whose accepted deletion failed is deleted again.
func TestDeletionFails(t *testing.T) {
	w := newToyWorld(t, true)
	w.create("a")
	w.pass("a")
	w.cloud.change(func(c *toyCloud) { c.slow, c.calls = 1, nil })
	w.delete("a")
	w.pass("a")
	broken := reconcile.Refuse(condition.ReasonInvalidConfiguration, "it is in state error")
	w.r.kind.Observe = func(netKind, string) reconcile.Outcome { return broken }
	w.later(3*time.Second, "a")
	w.expect("the deletion failed", states{"a": "blue-a it is in state error"},
		"DELETE /things/blue-a", "GET /things/blue-a")
	w.pass("a")
	w.cloud.change((*toyCloud).finish)
	w.later(3*time.Second, "a")
	w.expect("deleted again", states{"a": "gone"}, "DELETE /things/blue-a", "GET /things/blue-a")
}
