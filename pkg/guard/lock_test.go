package guard_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const inUse = "test.kinship.dev/in-use"

// locked is a ConfigMap and a Lock whose Hold a test sets.
type locked struct {
	*guard.Lock

	client client.Client
	object *corev1.ConfigMap
	id     object.ID
	hold   atomic.Int64
	writes *counter
	freeze func()
}

// lock creates a ConfigMap which the lock knows.
func lock(t *testing.T, m *corev1.ConfigMap) *locked {
	t.Helper()
	l := &locked{client: testenv.Client(t, nil), object: m}
	m.Namespace, m.Name = testenv.Namespace(t), "m"
	if err := l.client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	l.id = object.Of(m, configMap)
	l.Lock = &guard.Lock{
		Label: inUse, Value: "true", FieldOwner: "guard-test",
		Hold: func(relation.Object) relation.Hold { return relation.Hold(l.hold.Load()) },
	}
	l.Metadata, l.writes = metadataClient(t)
	l.Watcher, l.freeze = startWatcher(t, func(w *relation.Watcher) { w.OnObject(l.Seen) })
	l.awaitSeen(t)
	return l
}

// awaitSeen waits until the Watcher shows the present state of the object.
func (l *locked) awaitSeen(t *testing.T) {
	t.Helper()
	l.read(t)
	testenv.Eventually(t, func() error {
		if obj, presence := l.Watcher.Get(l.id); presence != relation.Present || obj.Version != l.object.ResourceVersion {
			return fmt.Errorf("presence %d, version %s, want %s", presence, obj.Version, l.object.ResourceVersion)
		}
		return nil
	})
}

// ensure decides and ensures.
func (l *locked) ensure(t *testing.T, hold relation.Hold) (relation.Object, relation.Presence) {
	t.Helper()
	l.hold.Store(int64(hold))
	obj, presence, err := l.Ensure(t.Context(), l.id)
	if err != nil {
		t.Fatal(err)
	}
	return obj, presence
}

// read reads the object from the API server.
func (l *locked) read(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	l.object = &corev1.ConfigMap{}
	if err := l.client.Get(t.Context(), l.id.NamespacedName(), l.object); err != nil {
		t.Fatal(err)
	}
	return l.object
}

func TestLockPutsOnAndTakesOff(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Finalizers: []string{"else.where/x"}},
		Data:       map[string]string{"k": "v"},
	})
	t.Cleanup(func() { l.unfinalize(t) })
	original := l.read(t)
	steps := []struct {
		reason string
		hold   relation.Hold
		want   map[string]string
		writes int
	}{
		{"not enough is known", relation.Undecided, map[string]string{"app": "web"}, 0},
		{"nobody needs it, and it is free", relation.Free, map[string]string{"app": "web"}, 0},
		{"somebody needs it", relation.Held, map[string]string{"app": "web", inUse: "true"}, 1},
		{"it is held already", relation.Held, map[string]string{"app": "web", inUse: "true"}, 0},
		{"what is not known changes nothing", relation.Undecided, map[string]string{"app": "web", inUse: "true"}, 0},
		{"nobody needs it any more", relation.Free, map[string]string{"app": "web"}, 1},
	}
	for _, s := range steps {
		before := l.writes.sent.Load()
		obj, presence := l.ensure(t, s.hold)
		if diff := cmp.Diff(s.want, obj.Labels); diff != "" || presence != relation.Present {
			t.Errorf("%s: presence %d, answer (-want +got):\n%s", s.reason, presence, diff)
		}
		if diff := cmp.Diff(s.want, l.read(t).Labels); diff != "" {
			t.Errorf("%s: in the cluster (-want +got):\n%s", s.reason, diff)
		}
		if n := l.writes.since(before); n != s.writes {
			t.Errorf("%s: %d writes, want %d", s.reason, n, s.writes)
		}
	}
	after := l.read(t)
	after.ResourceVersion, after.ManagedFields = original.ResourceVersion, original.ManagedFields
	if diff := cmp.Diff(original, after); diff != "" {
		t.Errorf("more than the label has changed (-before +after):\n%s", diff)
	}
}

func (l *locked) unfinalize(t *testing.T) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := l.client.Patch(context.WithoutCancel(t.Context()), l.object, patch); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

func TestLockNamesItsFieldOwner(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	// An apply records field managers.
	testenv.Apply(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: m}, data: {k: v}}`, testenv.In(l.id.Namespace))
	l.awaitSeen(t)
	l.ensure(t, relation.Held)
	for _, f := range l.read(t).ManagedFields {
		if f.Manager == l.FieldOwner && strings.Contains(f.FieldsV1.GetRawString(), inUse) {
			return
		}
	}
	t.Errorf("the label is not owned by %s: %v", l.FieldOwner, l.object.ManagedFields)
}

// TestLockCorrectsTheValue shows that a label with another value is no lock.
func TestLockCorrectsTheValue(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{inUse: "false"}}})
	l.ensure(t, relation.Held)
	if got := l.read(t).Labels[inUse]; got != "true" {
		t.Errorf("the value is %q", got)
	}
}

// TestLockKnowsItsOwnWrites decides again and again on a cache that does not show the last
// write.
func TestLockKnowsItsOwnWrites(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	l.freeze()
	before := l.writes.sent.Load()
	for range 3 {
		if obj, _ := l.ensure(t, relation.Held); !l.On(obj) {
			t.Error("held, and the answer does not show the lock")
		}
	}
	if obj, _ := l.Get(l.id); !l.On(obj) {
		t.Error("Get does not show the own write")
	}
	if seen, _ := l.Watcher.Get(l.id); l.On(seen) {
		t.Fatal("the watcher is not frozen")
	}
	for range 3 {
		l.ensure(t, relation.Free)
	}
	if n := l.writes.since(before); n != 2 {
		t.Errorf("%d writes for two decisions", n)
	}
	if got, on := l.read(t).Labels[inUse]; on {
		t.Errorf("free, and labelled %q", got)
	}
}

// TestLockForgetsItsOwnWrites is the counterpart: a later state of the watch counts, even if
// another client has undone the own write.
func TestLockForgetsItsOwnWrites(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	l.ensure(t, relation.Held)
	l.object = l.read(t)
	delete(l.object.Labels, inUse)
	if err := l.client.Update(t.Context(), l.object); err != nil {
		t.Fatal(err)
	}
	l.awaitSeen(t)
	if obj, _ := l.Get(l.id); l.On(obj) {
		t.Error("the label was taken off by somebody else, and Get shows it")
	}
	l.ensure(t, relation.Held)
	if got := l.read(t).Labels[inUse]; got != "true" {
		t.Error("it was not put back")
	}
}

// TestLockLeavesStrangersAlone replaces the object behind the back of the cache.
func TestLockLeavesStrangersAlone(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	l.freeze()
	if err := l.client.Delete(t.Context(), l.object); err != nil {
		t.Fatal(err)
	}
	l.ensure(t, relation.Held) // Gone: no error.
	stranger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.id.Namespace, Name: l.id.Name}}
	if err := l.client.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	l.ensure(t, relation.Held)
	if diff := cmp.Diff(stranger, l.read(t)); diff != "" {
		t.Errorf("another object of the same name was touched (-want +got):\n%s", diff)
	}
}

// TestLockForgetsTheOneBefore shows that an own write says nothing of a new object
// of the same name.
func TestLockForgetsTheOneBefore(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	l.ensure(t, relation.Held)
	if err := l.client.Delete(t.Context(), l.read(t)); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if _, presence := l.Get(l.id); presence != relation.Absent {
			return fmt.Errorf("presence %d", presence)
		}
		return nil
	})
	again := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.id.Namespace, Name: l.id.Name}}
	if err := l.client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	l.awaitSeen(t)
	if obj, _ := l.Get(l.id); l.On(obj) || obj.UID != again.UID {
		t.Errorf("the new object is taken for the old one: %+v", obj)
	}
	l.ensure(t, relation.Held)
	if got := l.read(t).Labels[inUse]; got != "true" {
		t.Error("the new object is not locked")
	}
}

func TestLockOfAnObjectBeingDeleted(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		labels map[string]string
		hold   relation.Hold
		writes int
	}{
		"held": {"it goes, whatever its label says", nil, relation.Held, 0},
		"free": {
			"a label left behind would make its end depend on the webhook",
			map[string]string{inUse: "true"},
			relation.Free, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := lock(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Labels: c.labels, Finalizers: []string{"test.kinship.dev/stay"},
			}})
			t.Cleanup(func() { l.unfinalize(t) })
			if err := l.client.Delete(t.Context(), l.object); err != nil {
				t.Fatal(err)
			}
			l.awaitSeen(t)
			before := l.writes.sent.Load()
			l.ensure(t, c.hold)
			if n := l.writes.since(before); n != c.writes {
				t.Errorf("%s: %d writes, want %d", c.reason, n, c.writes)
			}
			if _, on := l.read(t).Labels[inUse]; on {
				t.Errorf("%s: it is labelled", c.reason)
			}
		})
	}
}

func TestLockOfWhatIsNotThere(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	l.hold.Store(int64(relation.Held))
	for name, c := range map[string]struct {
		id   object.ID
		want relation.Presence
	}{
		"absent":         {object.ID{Kind: "ConfigMap", Namespace: l.id.Namespace, Name: "none"}, relation.Absent},
		"kind not used":  {object.ID{Kind: "Secret", Namespace: l.id.Namespace, Name: "none"}, relation.Unknown},
		"kind not known": {object.ID{Group: "no.such", Kind: "Thing", Name: "none"}, relation.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			_, presence, err := l.Ensure(t.Context(), c.id)
			if err != nil || presence != c.want {
				t.Errorf("presence %d, want %d; error %v", presence, c.want, err)
			}
		})
	}
}

func TestLockForbidden(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	powerless, err := metadata.NewForConfig(testenv.As(t, "powerless"))
	if err != nil {
		t.Fatal(err)
	}
	l.Metadata = powerless
	l.hold.Store(int64(relation.Held))
	_, err = l.Reconcile(t.Context(), l.id)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "lock "+l.id.String()) {
		t.Errorf("error %v, want forbidden, with what was being done", err)
	}
}

// TestLockConcurrently calls Ensure from 16 goroutines for one decision after the other,
// without waiting for the cache. Each decision is written once.
func TestLockConcurrently(t *testing.T) {
	const rounds, callers = 30, 16
	l := lock(t, &corev1.ConfigMap{})
	before := l.writes.sent.Load()
	for round := range rounds {
		hold := []relation.Hold{relation.Held, relation.Free}[round%2]
		l.hold.Store(int64(hold))
		var running sync.WaitGroup
		for range callers {
			running.Go(func() {
				if obj, _, err := l.Ensure(t.Context(), l.id); err != nil || l.On(obj) != (hold == relation.Held) {
					t.Errorf("round %d: error %v, labels %v", round, err, obj.Labels)
				}
			})
		}
		running.Wait()
	}
	if n := l.writes.since(before); n != rounds {
		t.Errorf("%d writes for %d decisions", n, rounds)
	}
}

// TestLockFlapping changes the decision at every eighth call of Hold, while 16 goroutines call
// Ensure.
func TestLockFlapping(t *testing.T) {
	const callers, calls, steady = 16, 50, 8
	for _, last := range []relation.Hold{relation.Free, relation.Held} {
		l := lock(t, &corev1.ConfigMap{})
		var looks, decisions atomic.Int64
		l.Hold = func(relation.Object) relation.Hold {
			n := looks.Add(1) / steady
			decisions.Store(n + 1)
			return []relation.Hold{relation.Free, relation.Held}[n%2]
		}
		before := l.writes.sent.Load()
		var ensuring sync.WaitGroup
		for range callers {
			ensuring.Go(func() {
				for range calls {
					if _, _, err := l.Ensure(t.Context(), l.id); err != nil {
						t.Error(err)
					}
				}
			})
		}
		ensuring.Wait()
		l.Hold = func(relation.Object) relation.Hold { return last }
		l.ensure(t, last)
		if _, on := l.read(t).Labels[inUse]; on != (last == relation.Held) {
			t.Errorf("decided %d at last, and the label is on: %t", last, on)
		}
		n := l.writes.since(before)
		if limit := int(decisions.Load()) + 1; n > limit || n < limit/2 {
			t.Errorf("%d writes for %d decisions", n, limit)
		}
	}
}

// TestLockForgets shows that nothing is kept of an object that was released, once the
// watch has shown that.
func TestLockForgets(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	for _, hold := range []relation.Hold{relation.Held, relation.Free} {
		l.ensure(t, hold)
		testenv.Eventually(t, func() error {
			if n := l.Remembered(); n > 0 {
				return fmt.Errorf("%d objects are remembered", n)
			}
			return nil
		})
	}
}

// TestLockConflict: a Conflict that is not about metadata.uid is an error, so that the label is
// written again. The API server answers so when other clients write the object all the time.
func TestLockConflict(t *testing.T) {
	l := lock(t, &corev1.ConfigMap{})
	config, conflicts := testenv.Config(t), 1
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch || conflicts == 0 {
				return next.RoundTrip(r)
			}
			conflicts--
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,` +
				`"message":"the object has been modified; please apply your changes to the latest version"}`
			return &http.Response{
				StatusCode: http.StatusConflict, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		})
	})
	var err error
	if l.Metadata, err = metadata.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	l.hold.Store(int64(relation.Held))
	if result, err := l.Reconcile(t.Context(), l.id); err != nil || result.RequeueAfter != reconcile.ConflictRetry {
		t.Errorf("again after %s, error %v, want %s", result.RequeueAfter, err, reconcile.ConflictRetry)
	}
	conflicts = 1
	if _, _, err := l.Ensure(t.Context(), l.id); !apierrors.IsConflict(err) {
		t.Errorf("error %v, want Conflict", err)
	}
	if obj, _ := l.ensure(t, relation.Held); !l.On(obj) {
		t.Error("the object has no label after the second call")
	}
}
