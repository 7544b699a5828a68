package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

var (
	errFirst  = errors.New("first")
	errSecond = errors.New("second")
)

// outcomes are single findings of every state, and done.
var outcomes = rapid.Custom(func(t *rapid.T) reconcile.Outcome {
	reason := rapid.SampledFrom([]string{"A", "B", "C"}).Draw(t, "reason")
	n := rapid.IntRange(1, 9).Draw(t, "n")
	switch rapid.IntRange(0, 5).Draw(t, "form") {
	case 0:
		return reconcile.Outcome{}
	case 1:
		return reconcile.Wait(reason, "waiting %d", n)
	case 2:
		return reconcile.WaitFor(time.Duration(n)*time.Second, reason, "until %d", n)
	case 3:
		return reconcile.Progress(reason, "progress %d", n)
	case 4:
		return reconcile.Refuse(reason, "invalid %d", n)
	default:
		return reconcile.Fail(reason, rapid.SampledFrom([]error{errFirst, errSecond}).Draw(t, "error"))
	}
})

// seen is all that anybody can see of an outcome.
type seen struct {
	Done          bool
	Worst         reconcile.Finding
	Message       string
	Result        ctrl.Result
	Err           string
	First, Second bool
}

func see(o reconcile.Outcome) seen {
	result, err := o.Result()
	return seen{
		Done: o.IsDone(), Worst: o.Worst(), Message: o.Message(), Result: result, Err: fmt.Sprint(err),
		First: errors.Is(err, errFirst), Second: errors.Is(err, errSecond),
	}
}

func TestDoneIsTheIdentity(t *testing.T) {
	if diff := cmp.Diff(seen{Done: true, Err: "<nil>"}, see(reconcile.Outcome{})); diff != "" {
		t.Fatalf("the zero value (-want +got):\n%s", diff)
	}
	rapid.Check(t, func(t *rapid.T) {
		o := outcomes.Draw(t, "o").And(outcomes.Draw(t, "p"))
		for _, same := range []reconcile.Outcome{o.And(reconcile.Outcome{}), (reconcile.Outcome{}).And(o)} {
			if diff := cmp.Diff(see(o), see(same)); diff != "" {
				t.Fatalf("done changes an outcome (-alone +combined):\n%s", diff)
			}
		}
	})
}

func TestAndIsAssociative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := outcomes.Draw(t, "a"), outcomes.Draw(t, "b"), outcomes.Draw(t, "c")
		if diff := cmp.Diff(see(a.And(b).And(c)), see(a.And(b.And(c)))); diff != "" {
			t.Fatalf("(-left +right):\n%s", diff)
		}
	})
}

// combined draws some outcomes and their combination.
func combined(t *rapid.T) (parts []seen, all reconcile.Outcome) {
	for _, o := range rapid.SliceOfN(outcomes, 0, 6).Draw(t, "parts") {
		parts = append(parts, see(o))
		all = all.And(o)
	}
	return parts, all
}

func TestTheWorstDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, all := combined(t)
		worst, done := reconcile.Finding{}, true
		for _, p := range parts {
			done = done && p.Done
			if p.Worst.State > worst.State { // The first among equals.
				worst = p.Worst
			}
			if !strings.Contains(all.Message(), p.Message) {
				t.Fatalf("%q is not in %q", p.Message, all.Message())
			}
		}
		if diff := cmp.Diff(worst, all.Worst()); diff != "" || all.IsDone() != done {
			t.Fatalf("done %t, want %t; worst (-want +got):\n%s", all.IsDone(), done, diff)
		}
		if !strings.HasPrefix(all.Message(), worst.Message) {
			t.Fatalf("%q does not begin with the worst, %q", all.Message(), worst.Message)
		}
	})
}

func TestTheEarliestWinsUnlessOneFailed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, all := combined(t)
		result, err := all.Result()
		want, failed := ctrl.Result{}, false
		for _, p := range parts {
			failed = failed || p.First || p.Second
			if (p.First && !errors.Is(err, errFirst)) || (p.Second && !errors.Is(err, errSecond)) {
				t.Fatalf("error %v lacks that of %q", err, p.Message)
			}
			if after := p.Result.RequeueAfter; after > 0 && (want.RequeueAfter == 0 || after < want.RequeueAfter) {
				want.RequeueAfter = after
			}
		}
		if failed { // There is a back-off instead.
			want = ctrl.Result{}
		}
		if result != want || failed != (err != nil) {
			t.Fatalf("result %+v, want %+v; error %v, want one: %t", result, want, err, failed)
		}
	})
}

// TestAndChangesNothing: outcomes are values. The combinations of one Outcome with two others
// do not affect each other.
func TestAndChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, base := combined(t)
		before := see(base)
		left, right := outcomes.Draw(t, "left"), outcomes.Draw(t, "right")
		l := base.And(left)
		seenLeft := see(l)
		base.And(right)
		if diff := cmp.Diff([]seen{before, seenLeft}, []seen{see(base), see(l)}); diff != "" {
			t.Fatalf("(-before +after):\n%s", diff)
		}
	})
}

func TestOutcome(t *testing.T) {
	waiting := reconcile.Wait("NotFound", "waiting for %s to exist", "Network/net1")
	cases := map[string]struct {
		reason  string
		outcome reconcile.Outcome
		want    seen
	}{
		"wait": {
			"a watch will wake it: no back-off, no time", waiting,
			seen{
				Worst:   waiting.Worst(),
				Message: "waiting for Network/net1 to exist", Err: "<nil>",
			},
		},
		"wait for a moment": {
			"only time will wake it", reconcile.WaitFor(time.Minute, "R", "m"),
			seen{
				Worst: reconcile.Finding{State: reconcile.Waiting, Reason: "R", Message: "m"}, Message: "m",
				Result: ctrl.Result{RequeueAfter: time.Minute}, Err: "<nil>",
			},
		},
		"nil error": {"nothing failed", reconcile.Fail("R", nil), seen{Done: true, Err: "<nil>"}},
		"error with a percent sign": {
			"the text of an error is no format", reconcile.Fail("R", errors.New("100%s")),
			seen{
				Worst:   reconcile.Finding{State: reconcile.Failed, Reason: "R", Message: "100%s"},
				Message: "100%s", Err: "100%s",
			},
		},
		"invalid": {
			"it is not tried again: an error would have it tried for ever", reconcile.Refuse("R", "m"),
			seen{Worst: reconcile.Finding{State: reconcile.Invalid, Reason: "R", Message: "m"}, Message: "m", Err: "<nil>"},
		},
		"said twice": {
			"people read it once", waiting.And(reconcile.Progress("P", "begun")).And(waiting),
			seen{Worst: waiting.Worst(), Message: "waiting for Network/net1 to exist; begun", Err: "<nil>"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, see(c.outcome)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestIsPassing: an outcome is passing if nothing in its worst state lasts, or if another client wrote first.
func TestIsPassing(t *testing.T) {
	passing := reconcile.Wait("R", "m").Passing()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", errors.New("changed"))
	for name, c := range map[string]struct {
		outcome reconcile.Outcome
		want    bool
	}{
		"done":                        {reconcile.Outcome{}, false},
		"passing":                     {passing, true},
		"passing, and waiting":        {passing.And(reconcile.Wait("R", "m")), false},
		"waiting, and passing":        {reconcile.Wait("R", "m").And(passing), false},
		"passing, and a better state": {passing.And(reconcile.Progress("R", "m")), true},
		"passing, and a worse state":  {passing.And(reconcile.Refuse("R", "m")), false},
		"conflict":                    {reconcile.Fail("R", conflict), true},
		"another failure":             {reconcile.Fail("R", errors.New("e")), false},
	} {
		if got := c.outcome.IsPassing(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestPassedMoment shows that a wait for a moment in the past ends at once: to the
// work queue, zero means never.
func TestPassedMoment(t *testing.T) {
	for _, d := range []time.Duration{0, -time.Second} {
		o := reconcile.WaitFor(d, "R", "m").And(reconcile.WaitFor(time.Hour, "R", "n"))
		if result, _ := o.Result(); result.RequeueAfter <= 0 || result.RequeueAfter > time.Second {
			t.Errorf("after %s: woken after %s", d, result.RequeueAfter)
		}
	}
}

// TestSooner: Sooner takes the time off the pause. An outcome without a pause stays without.
func TestSooner(t *testing.T) {
	for _, c := range []struct {
		o    reconcile.Outcome
		want time.Duration
	}{
		{reconcile.WaitFor(5*time.Second, "A", "waiting"), 3 * time.Second},
		{reconcile.WaitFor(time.Second, "A", "waiting"), time.Nanosecond},
		{reconcile.Wait("A", "waiting"), 0},
	} {
		if result, err := c.o.Sooner(2 * time.Second).Result(); err != nil || result.RequeueAfter != c.want {
			t.Errorf("again after %s, error %v; want %s", result.RequeueAfter, err, c.want)
		}
	}
}

func TestStatesAreOrdered(t *testing.T) {
	states := []reconcile.State{
		reconcile.Done, reconcile.Progressing, reconcile.Waiting, reconcile.Failed, reconcile.Invalid,
	}
	if !slices.IsSorted(states) {
		t.Errorf("%v: the worst has to be last", states)
	}
}

func TestRun(t *testing.T) {
	step := func(name string, o reconcile.Outcome) reconcile.Step[*[]string] {
		return reconcile.Step[*[]string]{Name: name, Run: func(_ context.Context, ran *[]string) reconcile.Outcome {
			*ran = append(*ran, name)
			return o
		}}
	}
	done := reconcile.Outcome{}
	cases := map[string]struct {
		reason string
		steps  []reconcile.Step[*[]string]
		ran    []string
		want   string
	}{
		"none": {"nothing to do", nil, nil, ""},
		"all done": {
			"every step runs, in order",
			[]reconcile.Step[*[]string]{step("a", done), step("b", done)},
			[]string{"a", "b"},
			"",
		},
		"waits": {
			"what follows relies on what came before",
			[]reconcile.Step[*[]string]{step("a", done), step("b", reconcile.Wait("R", "b waits")), step("c", done)},
			[]string{"a", "b"},
			"b waits",
		},
		"fails": {
			"the first failure counts",
			[]reconcile.Step[*[]string]{step("a", reconcile.Fail("R", errFirst)), step("b", reconcile.Fail("R", errSecond))},
			[]string{"a"},
			"first",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var ran []string
			o := reconcile.Run(t.Context(), &ran, c.steps...)
			if diff := cmp.Diff(c.ran, ran); diff != "" || o.Message() != c.want {
				t.Errorf("%s: message %q, want %q; steps (-want +got):\n%s", c.reason, o.Message(), c.want, diff)
			}
		})
	}
}

func TestRunPassesTheContext(t *testing.T) {
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, "value")
	reconcile.Run(ctx, 7, reconcile.Step[int]{Name: "step", Run: func(ctx context.Context, state int) reconcile.Outcome {
		if ctx.Value(key{}) != "value" || state != 7 {
			t.Errorf("state %d, context %v", state, ctx)
		}
		return reconcile.Outcome{}
	}})
}
