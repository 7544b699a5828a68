package reconcile

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

func named(name string) object.ID {
	return object.ID{Group: "g", Kind: "K", Namespace: "n", Name: name}
}

func newWork(t *testing.T) workqueue.TypedRateLimitingInterface[object.ID] {
	t.Helper()
	work := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[object.ID]())
	t.Cleanup(work.ShutDown)
	return work
}

// drain returns the names of all objects in a queue.
func drain(work workqueue.TypedRateLimitingInterface[object.ID]) (names []string) {
	for work.Len() > 0 {
		id, _ := work.Get()
		names = append(names, id.Name)
		work.Done(id)
	}
	return names
}

// TestQueue: before its controller runs, a queue drops every object, as the controller begins with all objects.
func TestQueue(t *testing.T) {
	var q, other Queue
	q.Add(named("dropped"))
	if q.Running() {
		t.Error("a queue without a controller runs")
	}
	work, heard := newWork(t), false
	c := Controller{
		Queue: &q, Heard: func(context.Context) bool {
			q.Add(named("too early")) // The caches are not filled.
			heard = true
			return true
		},
		All: func() []object.ID {
			if !heard {
				t.Error("the objects are listed before the caches are filled")
			}
			q.Add(named("meanwhile")) // An event between the list and the first pass is not lost.
			return []object.ID{named("a"), named("b")}
		},
	}
	if err := c.begin(t.Context(), work); err != nil || !q.Running() {
		t.Fatalf("error %v, running %t", err, q.Running())
	}
	q.Add(named("a")) // The queue has the object already.
	q.Add(named("c"))
	if diff := cmp.Diff([]string{"meanwhile", "a", "b", "c"}, drain(work)); diff != "" {
		t.Errorf("the objects (-want +got):\n%s", diff)
	}
	other.Join(&q)
	other.Add(named("joined"))
	if got := drain(work); !other.Running() || !slices.Equal(got, []string{"joined"}) {
		t.Errorf("a queue that joined passed on %v", got)
	}
}

// TestBeginEnds: a controller whose caches are never filled begins nothing.
func TestBeginEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var q Queue
	c := Controller{Queue: &q, Heard: func(context.Context) bool { return false }}
	if err := c.begin(ctx, newWork(t)); !errors.Is(err, context.Canceled) || q.Running() {
		t.Errorf("error %v, running %t", err, q.Running())
	}
}

// TestQuiet: an error counts as long as the operator runs, and not while it stops.
func TestQuiet(t *testing.T) {
	failure := errors.New("no answer")
	for name, stops := range map[string]bool{"runs": false, "stops": true} {
		ctx, cancel := context.WithCancel(t.Context())
		r := Quiet(reconcile.TypedFunc[object.ID](func(context.Context, object.ID) (reconcile.Result, error) {
			if stops {
				cancel()
			}
			return reconcile.Result{RequeueAfter: 7}, failure
		}))
		result, err := r.Reconcile(ctx, named("a"))
		if isQuiet := err == nil && result.IsZero(); isQuiet != stops || (!stops && !errors.Is(err, failure)) {
			t.Errorf("the operator %s: %v, %v", name, result, err)
		}
		cancel()
	}
}

// gatedManager is a manager with a Gate and a tracer.
type gatedManager struct {
	manager.Manager

	gate   Gate
	tracer trace.Tracer
}

func (m *gatedManager) Gate() *Gate                    { return &m.gate }
func (m *gatedManager) Tracer() (trace.Tracer, string) { return m.tracer, "pack" }

// plainManager is a manager without a Gate and without a tracer.
type plainManager struct{ manager.Manager }

// TestBehind: a pass begins when the gate is open, and a pass that waits ends with the operator.
func TestBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		passes := 0
		count := reconcile.TypedFunc[object.ID](func(context.Context, object.ID) (reconcile.Result, error) {
			passes++
			return reconcile.Result{}, nil
		})
		mgr := &gatedManager{}
		mgr.gate.Close()
		r := Behind(mgr, count)
		ended := make(chan error, 1)
		go func() {
			_, err := r.Reconcile(t.Context(), named("a"))
			ended <- err
		}()
		synctest.Wait()
		if passes > 0 {
			t.Error("a pass began while the gate was closed")
		}
		mgr.gate.Open()
		if err := <-ended; err != nil || passes != 1 {
			t.Errorf("%d passes after the gate was opened, %v", passes, err)
		}
		mgr.gate.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.Reconcile(ctx, named("a")); !errors.Is(err, context.Canceled) || passes != 1 {
			t.Errorf("%d passes after the operator stopped, %v", passes, err)
		}
		if _, err := Behind(&plainManager{}, count).Reconcile(t.Context(), named("a")); err != nil || passes != 2 {
			t.Errorf("%d passes of a manager without a gate, %v", passes, err)
		}
	})
}

// TestSpans: a pass is a span with the object, the outcome and the error.
func TestSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	mgr := &gatedManager{tracer: provider.Tracer("test")}
	failure := errors.New("no answer")
	for _, c := range []struct {
		outcome         Outcome
		result, reason  string
		status          codes.Code
		statusIsMessage bool
	}{
		{Outcome{}, "Done", "", codes.Unset, false},
		{Wait("NoTide", "waiting"), "Waiting", "NoTide", codes.Unset, false},
		{Wait("NoTide", "waiting").And(Fail("NoWind", failure)), "Failed", "NoWind", codes.Error, true},
	} {
		recorder.Reset()
		r := withSpans(mgr, reconcile.TypedFunc[object.ID](func(ctx context.Context, _ object.ID) (reconcile.Result, error) {
			recordOutcome(ctx, c.outcome)
			return c.outcome.Result()
		}))
		_, err := r.Reconcile(t.Context(), named("a"))
		spans := recorder.Ended()
		if len(spans) != 1 || spans[0].Name() != "reconcile K" {
			t.Fatalf("the spans are %v", spans)
		}
		got := map[string]string{}
		for _, a := range spans[0].Attributes() {
			got[string(a.Key)] = a.Value.AsString()
		}
		want := map[string]string{
			"kinship.pack": "pack", "kinship.group": "g", "kinship.kind": "K", "kinship.namespace": "n", "kinship.name": "a",
			"kinship.outcome": c.result,
		}
		if c.reason != "" {
			want["kinship.reason"] = c.reason
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("attributes (-want +got):\n%s", diff)
		}
		status := spans[0].Status()
		if status.Code != c.status || (c.statusIsMessage && status.Description != err.Error()) {
			t.Errorf("the status is %v, the error %v", status, err)
		}
	}
	recordOutcome(t.Context(), Outcome{}) // Without a span it must not panic.
	mgr.tracer = nil
	recorder.Reset()
	done := reconcile.TypedFunc[object.ID](func(context.Context, object.ID) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	})
	for _, m := range []manager.Manager{mgr, &plainManager{}} {
		if _, err := withSpans(m, done).Reconcile(t.Context(), named("a")); err != nil || len(recorder.Started()) > 0 {
			t.Errorf("spans without a tracer: %v, %v", recorder.Started(), err)
		}
	}
}

// TestOwnKindHandles: an event requeues its object, unless the event shows an own write alone.
func TestOwnKindHandles(t *testing.T) {
	work := newWork(t)
	k := &OwnKind{Kind: named("").GroupKind()}
	k.Queue.work.Store(&work)
	pod := func(version, label string) client.Object {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "a", ResourceVersion: version, Labels: map[string]string{"l": label},
		}}
	}
	k.Writes.WroteOn(named("a"), "1", "2")
	for i, c := range []struct {
		change watch.Change[client.Object]
		want   int
	}{
		{watch.Change[client.Object]{New: pod("1", "x")}, 1},
		{watch.Change[client.Object]{Old: pod("1", "x"), New: pod("2", "y")}, 0}, // The own write.
		{watch.Change[client.Object]{Old: pod("2", "y"), New: pod("3", "z")}, 1},
		{watch.Change[client.Object]{Old: pod("3", "z"), New: pod("4", "z")}, 0}, // A status.
		{watch.Change[client.Object]{Old: pod("4", "z")}, 1},
	} {
		k.handle(c.change)
		if got := drain(work); len(got) != c.want {
			t.Errorf("event %d requeued %v, want %d objects", i, got, c.want)
		}
	}
}
