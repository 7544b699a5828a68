package revision_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/revision"
)

// TestOpenFails: a History without a cache, or with a label that selects nothing, says which part is wrong.
func TestOpenFails(t *testing.T) {
	failure := errors.New("no cache")
	fails := func(cache.Options) (cache.Cache, error) { return nil, failure }
	if _, err := (&revision.History{Label: label}).Open(t.Context(), fails); !errors.Is(err, failure) {
		t.Errorf("without a cache: %v", err)
	}
	_, err := (&revision.History{Label: "a b"}).Open(t.Context(), fails)
	if err == nil || !strings.HasPrefix(err.Error(), "select ControllerRevisions: ") {
		t.Errorf("with a wrong label: %v", err)
	}
}

// TestNotRecorded: a spec that is no JSON is refused, and a revision that may not be read or written is tried again.
func TestNotRecorded(t *testing.T) {
	w := newWorld(t)
	never := func([]byte) bool { return false }
	_, outcome := w.Record(t.Context(), w.parent, 0, math.Inf(1), never)
	if outcome.Worst().State != reconcile.Invalid || !strings.HasPrefix(outcome.Message(), "record ConfigMap/web: ") {
		t.Errorf("no JSON: %s, %q", outcome.Worst().State, outcome.Message())
	}
	first := w.made("a", 1)
	w.await("web-v1")
	all := w.Client
	w.Client = testenv.ClientFor(t, testenv.As(t, "nobody"), nil)
	for name, c := range map[string]struct {
		do   func() reconcile.Outcome
		want string
	}{
		"create": {func() reconcile.Outcome { return w.second("b", 1) }, "create ControllerRevision/web-v2: "},
		"read":   {func() reconcile.Outcome { return w.second("b", 2) }, "read ControllerRevision/web-v2: "},
		"delete": {func() reconcile.Outcome {
			w.Limit = 0
			return w.Prune(t.Context(), w.parent, "none", func(*appsv1.ControllerRevision) bool { return false })
		}, "delete ControllerRevision/web-v1: "},
	} {
		outcome := c.do()
		if outcome.Worst().State != reconcile.Failed || !strings.HasPrefix(outcome.Message(), c.want) {
			t.Errorf("%s: %s, %q; want %q", name, outcome.Worst().State, outcome.Message(), c.want)
		}
	}
	if err := all.Get(t.Context(), client.ObjectKeyFromObject(first), first); err != nil {
		t.Errorf("revision 1: %v", err)
	}
}

// second records a spec, and returns the outcome.
func (w *world) second(spec string, last int64) reconcile.Outcome {
	_, outcome := w.record(spec, last)
	return outcome
}

// TestReplacedParent: the revisions of an object that was deleted are no revisions of an object with its name.
func TestReplacedParent(t *testing.T) {
	w := newWorld(t)
	w.made("a", 1)
	w.await("web-v1")
	w.parent.UID = types.UID("another")
	if all, err := w.Of(w.parent); err != nil || len(all) > 0 {
		t.Errorf("revisions of the former object: %v, %v", all, err)
	}
	outcome := w.second("a", 0)
	const taken = "ControllerRevision/web-v1 exists, and is no revision of ConfigMap/web: delete it"
	if result, err := outcome.Result(); outcome.Message() != taken || err != nil || result.RequeueAfter == 0 {
		t.Errorf("%q, %v, %v; want %q and another attempt", outcome.Message(), result, err, taken)
	}
	w.Limit = 0
	if o := w.Prune(t.Context(), w.parent, "", func(*appsv1.ControllerRevision) bool { return false }); !o.IsDone() {
		t.Error(o.Message())
	}
	key := client.ObjectKey{Namespace: w.parent.Namespace, Name: "web-v1"}
	if err := w.Client.Get(context.WithoutCancel(t.Context()), key, &appsv1.ControllerRevision{}); err != nil {
		t.Errorf("the revision of the former object: %v", err)
	}
}

// TestPruneReplaced: a revision that was replaced since the cache saw it is not deleted.
func TestPruneReplaced(t *testing.T) {
	w := newWorld(t)
	old := w.made("a", 1)
	w.await("web-v1")
	stale := old.DeepCopy()
	stale.UID = "former"
	w.must(w.GetIndexer().Update(stale)) // As if the cache were late.
	w.Limit = 0
	outcome := w.Prune(t.Context(), w.parent, "", func(*appsv1.ControllerRevision) bool { return false })
	if !outcome.IsSuperseded() {
		t.Errorf("%s: %q", outcome.Worst().State, outcome.Message())
	}
	w.must(w.Client.Get(t.Context(), client.ObjectKeyFromObject(old), old))
}
