package external

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

type (
	networkReconciler = reconciler[*openstackv1alpha1.Network, string]
	networkPass       = pass[*openstackv1alpha1.Network, string]
)

// newReconciler returns a reconciler of an [Engine] without kinds, and its clock.
func newReconciler() (*networkReconciler, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	return &networkReconciler{
		engine: New(nil, Options{Clock: clock, Noun: "resource"}), turns: newTurns(8, func(object.ID) {}),
		reports: newReports(),
	}, clock
}

// newPass returns a pass over a Network with the given conditions.
func newPass(conditions ...metav1.Condition) *networkPass {
	p := &networkPass{record: &record{}}
	p.Object = &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{Name: "net", Namespace: "ns", Generation: 2}}
	p.Object.Status.Conditions = conditions
	p.before = p.Object.DeepCopy()
	return p
}

// TestOnlyProgress: the write of a status is deferred only if the object waits, as before the pass, and
// the status names other targets than before.
func TestOnlyProgress(t *testing.T) {
	of := func(status metav1.ConditionStatus, generation int64, message string) []metav1.Condition {
		return []metav1.Condition{{
			Type: condition.Progressing, Status: status, ObservedGeneration: generation, Message: message,
		}}
	}
	now := of(metav1.ConditionTrue, 2, "Waiting for Network/a")
	for name, c := range map[string]struct {
		before []metav1.Condition
		waits  bool
		putOff bool
	}{
		"another target":           {of(metav1.ConditionTrue, 2, "Waiting for Network/b"), true, true},
		"it waits no more":         {of(metav1.ConditionTrue, 2, "Waiting for Network/b"), false, false},
		"nothing said yet":         {nil, true, false},
		"another spec":             {of(metav1.ConditionTrue, 1, "Waiting for Network/b"), true, false},
		"it did not wait before":   {of(metav1.ConditionFalse, 2, "Available"), true, false},
		"there is nothing to tell": {now, true, false},
	} {
		r, clock := newReconciler()
		p := newPass(c.before...)
		p.waits = true
		r.reports.Wrote(p.id, clock.Now(), p.recorded(), p.report())
		p.waits, p.Object.Status.Conditions = c.waits, now
		if got := r.reports.Defer(p.id, clock.Now(), p.recorded(), p.report()) > 0; got != c.putOff {
			t.Errorf("%s: put off: %t", name, got)
		}
	}
}

// TestToldAgain: the status of a new wait is deferred only after the status of another wait was written.
func TestToldAgain(t *testing.T) {
	r, clock := newReconciler()
	scheme := runtime.NewScheme()
	if err := openstackv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r.engine.Live = testenv.Client(t, scheme)
	p := newPass()
	p.Object.Namespace = testenv.Namespace(t)
	p.Object.Spec.Import = &openstackv1alpha1.NetworkImport{
		ID: new(openstackv1alpha1.UUID("c5a2f2a4-1e0b-4b7f-9d0e-0e8f0c4f7d11")),
	}
	p.Object.Spec.ManagementPolicy = "unmanaged"
	p.Object.Spec.CloudCredentialsRef = openstackv1alpha1.CloudCredentialsReference{SecretName: "s", CloudName: "c"}
	if err := r.engine.Live.Create(t.Context(), p.Object); err != nil {
		t.Fatal(err)
	}
	p.before = p.Object.DeepCopy()

	wait := func(what string) reconcile.Outcome { return reconcile.Wait(condition.ReasonProgressing, "%s", what) }
	steps := []struct {
		after   time.Duration
		waits   bool
		outcome reconcile.Outcome
		says    string
		putOff  time.Duration
	}{
		{0, true, wait("a"), "a", 0},
		{time.Second / 4, true, wait("b"), "a", time.Second * 3 / 4},
		{0, false, reconcile.Fail(condition.ReasonTransientError, errors.New("no")), "no", 0},
		{0, true, wait("b"), "b", 0},
		{time.Second / 4, true, wait("c"), "b", time.Second * 3 / 4},
		{time.Second * 3 / 4, true, wait("c"), "c", 0},
	}
	for _, s := range steps {
		clock.SetTime(clock.Now().Add(s.after))
		p.waits = s.waits
		result, _ := r.conclude(t.Context(), p, s.outcome).Result()
		var seen openstackv1alpha1.Network
		if err := r.engine.Live.Get(t.Context(), client.ObjectKeyFromObject(p.Object), &seen); err != nil {
			t.Fatal(err)
		}
		c := meta.FindStatusCondition(seen.Status.Conditions, condition.Progressing)
		if c == nil || c.Message != s.says || result.RequeueAfter != s.putOff {
			t.Errorf("of %q it says %+v and comes back in %s, want %q and %s",
				s.outcome.Message(), c, result.RequeueAfter, s.says, s.putOff)
		}
	}
}

// TestFailed lists the reconcile.Outcome of each error class.
func TestFailed(t *testing.T) {
	r, _ := newReconciler()
	const transient, invalid = condition.ReasonTransientError, condition.ReasonInvalidConfiguration
	for reason, c := range map[string]struct {
		err   error
		state reconcile.State
		why   string
		after time.Duration
	}{
		"of anything":        {errors.New("no"), reconcile.Failed, transient, 0},
		"answered":           {&Error{Class: Refused}, reconcile.Failed, transient, 0},
		"to be tried later":  {&Error{Class: Refused, After: time.Minute}, reconcile.Failed, transient, time.Minute},
		"final":              {&Error{Class: Invalid, After: time.Minute}, reconcile.Invalid, invalid, 0},
		"not one, but a job": {&Error{Class: Underway}, reconcile.Progressing, condition.ReasonProgressing, 0},
	} {
		o := r.failed(&networkPass{}, c.err)
		worst := o.Worst()
		result, _ := o.Result()
		if worst.State != c.state || worst.Reason != c.why || result.RequeueAfter != c.after {
			t.Errorf("%s: %+v, again after %s", reason, worst, result.RequeueAfter)
		}
	}
	if o := r.failed(&networkPass{}, nil); !o.IsDone() {
		t.Errorf("no error: %s", o.Message())
	}
	o := again(r.failed(&networkPass{}, &Error{Class: Invalid, Message: "no"}))
	if o.Worst().State != reconcile.Failed || o.Message() != "no" {
		t.Errorf("a deletion gives up: %+v", o.Worst())
	}
}

// TestPoll: the pauses of reconciler.poll double up to 15 s, and the looks do not end.
func TestPoll(t *testing.T) {
	r, clock := newReconciler()
	p := newPass()
	var last time.Duration
	for look := range 100 {
		pause := pauseOf(t, r.poll(p, "Waiting"))
		if pause < last || pause <= 0 || pause > 15*time.Second {
			t.Fatalf("look %d is after %s, the one before after %s", look, pause, last)
		}
		if look == 0 && pause > time.Second {
			t.Errorf("the first look is after %s", pause)
		}
		clock.SetTime(clock.Now().Add(pause / 4))
		if left := pauseOf(t, r.poll(p, "Waiting")); left != pause-pause/4 {
			t.Fatalf("somebody's look in between has put the next one, after %s, off to %s", pause-pause/4, left)
		}
		clock.SetTime(clock.Now().Add(pause - pause/4))
		last = pause
	}
	if last != 15*time.Second {
		t.Errorf("the last looks are after %s", last)
	}
}

// pauseOf returns RequeueAfter of an outcome.
func pauseOf(t *testing.T, o reconcile.Outcome) time.Duration {
	t.Helper()
	result, err := o.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result.RequeueAfter
}

// TestIsOver: memory.isReleased recognizes the older versions of an object that a late watch reports.
func TestIsOver(t *testing.T) {
	for reason, c := range map[string]struct {
		left, shown string
		want        bool
	}{
		"not left yet":         {"", "7", false},
		"as it was before":     {"10", "9", true},
		"as it was left":       {"10", "10", true},
		"somebody put it back": {"10", "11", false},
	} {
		if got := (&memory{releasedAt: c.left}).isReleased(c.shown); got != c.want {
			t.Errorf("%s: %t", reason, got)
		}
	}
}

// TestFinal: a refused object is not reconciled again without a change, even if memory.next has passed.
func TestFinal(t *testing.T) {
	r, clock := newReconciler()
	p := newPass(metav1.Condition{
		Type: condition.Progressing, Status: metav1.ConditionFalse, ObservedGeneration: 2,
		Reason: condition.ReasonInvalidConfiguration,
	})
	p.record.next = clock.Now().Add(-time.Second)
	if r.endIfSettled(t.Context(), p); !p.settled {
		t.Fatal("it is tried again")
	}
	result, err := r.conclude(t.Context(), p, reconcile.Outcome{}).Result()
	if err != nil || result.RequeueAfter != 0 {
		t.Errorf("again in %s, error %v", result.RequeueAfter, err)
	}
}

// TestStatusConflict: a later pass writes a status whose write was answered with a Conflict that is not
// about metadata.uid.
func TestStatusConflict(t *testing.T) {
	s := newSharers(t)
	live, err := client.NewWithWatch(testenv.Config(t), client.Options{Scheme: s.c.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	conflicts := 1
	s.r.engine.Live = interceptor.NewClient(live, interceptor.Funcs{SubResourcePatch: func(
		ctx context.Context, c client.Client, name string, obj client.Object, patch client.Patch,
		opts ...client.SubResourcePatchOption,
	) error {
		if _, brief := obj.(*metav1.PartialObjectMetadata); !brief {
			t.Errorf("the answer is read into a %T", obj)
		}
		if conflicts > 0 {
			conflicts--
			return apierrors.NewConflict(schema.GroupResource{Resource: "networks"}, obj.GetName(), errors.New("modified"))
		}
		return c.SubResource(name).Patch(ctx, obj, patch, opts...)
	}})
	s.create("a")
	pause, err := s.again("a")
	if err != nil || pause != reconcile.ConflictRetry {
		t.Errorf("again after %s, error %v, want %s", pause, err, reconcile.ConflictRetry)
	}
	s.expect("not written", "create", states{"a": "none"})
	s.pass("a")
	s.expect("written", "get", states{"a": "r1"})
}
