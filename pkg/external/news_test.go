package external

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// news is a recorder of events.
type news struct{ told []string }

// Eventf implements events.EventRecorder.
func (n *news) Eventf(regarding, _ runtime.Object, kind, reason, action, note string, args ...any) {
	name := regarding.(client.Object).GetName()
	n.told = append(n.told, strings.Join([]string{name, kind, reason, action, fmt.Sprintf(note, args...)}, " "))
}

// expect compares the events since the last call of expect.
func (n *news) expect(t *testing.T, reason string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(n.told, "\n")); diff != "" {
		t.Errorf("%s: events (-want +got):\n%s", reason, diff)
	}
	n.told = nil
}

// newNews returns a toyWorld with a recorder of events.
func newNews(t *testing.T, put bool) (*toyWorld, *news) {
	t.Helper()
	w, n := newToyWorld(t, put), &news{}
	w.r.engine.Events = n
	return w, n
}

// TestNews: the creation and the deletion of a resource have an event each, with the id. Later passes emit
// no event.
func TestNews(t *testing.T) {
	w, n := newNews(t, false)
	w.create("a")
	w.pass("a")
	n.expect(t, "created", "a Normal Created Create resource t1 was created")
	w.pass("a")
	w.edit("a")
	w.pass("a")
	n.expect(t, "passes without a change")
	w.restart()
	w.r.engine.Events = n
	w.edit("a")
	w.pass("a")
	n.expect(t, "after a restart")
	w.delete("a")
	w.pass("a")
	n.expect(t, "deleted", "a Normal Deleted Delete resource t1 was deleted")
}

// TestNewsOfOperations: the events of a creation and a deletion are emitted when the operations have
// ended.
func TestNewsOfOperations(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.slow = 1 })
	w.create("a")
	w.passIn("a", 3*time.Second)
	n.expect(t, "the creation has begun")
	w.later(3*time.Second, "a")
	n.expect(t, "created", "a Normal Created Create resource blue-a was created")
	w.delete("a")
	w.passIn("a", 3*time.Second)
	n.expect(t, "the deletion has begun")
	w.cloud.change(func(c *toyCloud) {
		delete(c.running, "op1") // It has ended.
		c.finish()
	})
	w.later(3*time.Second, "a")
	n.expect(t, "deleted", "a Normal Deleted Delete resource blue-a was deleted")
}

// TestNewsOfDeletionOnce: the API server refuses to remove the finalizer after a long deletion has ended. The next pass
// finds the resource missing again, and emits no second event.
func TestNewsOfDeletionOnce(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.slow = 1 })
	w.create("a")
	w.passIn("a", 3*time.Second)
	w.later(3*time.Second, "a")
	w.delete("a")
	w.passIn("a", 3*time.Second)
	n.told = nil
	w.cloud.change(func(c *toyCloud) {
		delete(c.running, "op1") // It has ended.
		c.finish()
	})
	refused := 1
	w.r.engine.Live = interceptor.NewClient(w.c.(client.WithWatch), interceptor.Funcs{
		Apply: func(
			ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption,
		) error {
			if refused > 0 {
				refused--
				return errors.New("refused")
			}
			return c.Apply(ctx, obj, opts...)
		},
	})
	w.clock.SetTime(w.clock.Now().Add(3 * time.Second))
	if _, err := w.again("a"); err == nil {
		t.Error("the pass ends without the finalizer")
	}
	w.later(3*time.Second, "a")
	if refused > 0 {
		t.Error("nothing was refused")
	}
	n.expect(t, "deleted", "a Normal Deleted Delete resource blue-a was deleted",
		"a Warning TransientError Delete remove the finalizer: refused")
}

// TestNewsOfImports: an event says which resource an object took over. A resource that another client
// deleted has no event of a deletion.
func TestNewsOfImports(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.create("a")
	w.adopt("a")
	w.pass("a")
	n.expect(t, "adopted",
		"a Normal Adopted Import resource blue-a exists and belongs to this object, which deletes it at its end")
	w.cloud.change(func(c *toyCloud) { delete(c.things, "blue-a") })
	w.delete("a")
	w.pass("a")
	n.expect(t, "deleted by somebody else")
}

// TestNewsOfFailures: only the first of several failures with the same reason has an event.
func TestNewsOfFailures(t *testing.T) {
	w, n := newNews(t, true)
	w.cloud.change(func(c *toyCloud) { c.things["blue-a"] = &thing{ID: "blue-a"} })
	w.create("a")
	w.pass("a")
	n.expect(t, "refused", "a Warning InvalidConfiguration Reconcile resource blue-a exists already, and this object "+
		"did not create it: set spec.adopt to take it over, or choose another name")
	w.edit("a")
	w.pass("a")
	n.expect(t, "refused for the same reason")
	w.cloud.change(func(c *toyCloud) { delete(c.things, "blue-a") })
	w.edit("a")
	w.pass("a")
	n.expect(t, "created at last", "a Normal Created Create resource blue-a was created")
}

// TestNewsAreShort: notes have at most 1024 bytes, because the API server refuses events with longer
// notes.
func TestNewsAreShort(t *testing.T) {
	const most = 1024
	n := &news{}
	e := New(nil, Options{Events: n})
	obj := &openstackv1alpha1.Network{}
	e.event(obj, "Normal", "Reason", "Action", "%s", strings.Repeat("ü", most))
	if got := strings.TrimPrefix(n.told[0], " Normal Reason Action "); len(got) > most || len(got) < most-8 {
		t.Errorf("the note has %d bytes, want %d at most", len(got), most)
	}
}
