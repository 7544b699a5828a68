package reconcile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// State is the state of an object after a [Pass].
type State int

const (
	// Done means that there is nothing left to do.
	Done State = iota
	// Progressing means that an operation was started and will end without help: OpenStack
	// builds a Server.
	Progressing
	// Waiting means that another object ([Wait]) or a moment in time ([WaitFor]) must come
	// first: a Subnet waits for its Network.
	Waiting
	// Failed means that an attempt failed and will be repeated: [Fail] with back-off, [Retry]
	// at a given time.
	Failed
	// Invalid means that the Outcome stays the same until a user changes the spec
	// (metadata.generation).
	Invalid
)

// String returns the name of the state, for logs.
func (s State) String() string {
	return [...]string{"Done", "Progressing", "Waiting", "Failed", "Invalid"}[s]
}

// Finding is one reason why an object is not [Done].
type Finding struct {
	State   State
	Reason  string // CamelCase, as in conditions
	Message string // names the object, and what will end it
	Passing bool   // set by [Outcome.Passing]
}

// Outcome is the result of one or several steps. The zero value is [Done].
type Outcome struct {
	findings []Finding
	err      error
	after    time.Duration
	lasts    bool // A Pass has found the Outcome passing for passingPatience.
}

// Wait returns the [Outcome] of waiting for an event that a watch will report ([Waiting]).
func Wait(reason, format string, args ...any) Outcome {
	return finding(Waiting, reason, format, args)
}

// WaitFor returns the [Outcome] of waiting for a moment in time.
func WaitFor(d time.Duration, reason, format string, args ...any) Outcome {
	o := finding(Waiting, reason, format, args)
	o.after = max(d, time.Nanosecond) // A moment that has passed is now, not never.
	return o
}

// WaitForCache returns the [Outcome] of waiting until a cache shows a write that the API server
// has accepted. The pass is repeated after [ConflictRetry].
func WaitForCache(reason, format string, args ...any) Outcome {
	return WaitFor(ConflictRetry, reason, format, args...)
}

// After returns an [Outcome] that is [Done], with a new pass after d (RequeueAfter), for
// comparisons that are due at a time. Zero means no new pass.
func After(d time.Duration) Outcome { return Outcome{after: d} }

// Progress returns the [Outcome] of an operation that was started, and whose end a watch will
// report ([Progressing]).
func Progress(reason, format string, args ...any) Outcome {
	return finding(Progressing, reason, format, args)
}

// Refuse returns the [Outcome] of an object whose spec can't be fulfilled.
func Refuse(reason, format string, args ...any) Outcome {
	return finding(Invalid, reason, format, args)
}

// Fail returns the [Outcome] of a failed attempt ([Failed]), which will be repeated with
// back-off. With a nil error, the Outcome is [Done].
func Fail(reason string, err error) Outcome {
	if err == nil {
		return Outcome{}
	}
	o := finding(Failed, reason, "%s", []any{err.Error()})
	o.err = err
	return o
}

// Retry returns the [Outcome] of a failed attempt that will be repeated after d (RequeueAfter),
// without back-off and without an error in the log: the server that refused the attempt has
// named the time (Retry-After).
func Retry(d time.Duration, reason string, err error) Outcome {
	o := finding(Failed, reason, "%s", []any{err.Error()})
	o.after = max(d, time.Nanosecond)
	return o
}

func finding(s State, reason, format string, args []any) Outcome {
	return Outcome{findings: []Finding{{State: s, Reason: reason, Message: fmt.Sprintf(format, args...)}}}
}

// And combines two Outcomes: the worst [State] decides, every [Finding] is kept, and the
// smaller RequeueAfter wins.
func (o Outcome) And(p Outcome) Outcome {
	o.findings = slices.Concat(o.findings, p.findings)
	o.err = errors.Join(o.err, p.err)
	o.lasts = o.lasts || p.lasts
	if o.after == 0 || (p.after != 0 && p.after < o.after) {
		o.after = p.after
	}
	return o
}

// Sooner returns an [Outcome] whose next pass, if one is planned, begins earlier by d, or at once. d is the time
// that the pass took since the next pass was planned.
func (o Outcome) Sooner(d time.Duration) Outcome {
	if o.after > 0 {
		o.after = max(o.after-d, time.Nanosecond)
	}
	return o
}

// IsDone reports whether nothing is left to do.
func (o Outcome) IsDone() bool { return len(o.findings) == 0 }

// IsSuperseded reports whether an attempt failed because another client wrote an object at the same time (Conflict), or
// because the object of the pass was deleted meanwhile. Another pass follows, so a status need not report the failure.
func (o Outcome) IsSuperseded() bool { return o.isGone() || apierrors.IsConflict(o.err) }

// Passing returns an [Outcome] whose findings usually end in a moment, such as a wait for a cache
// that does not show a write of this operator yet.
func (o Outcome) Passing() Outcome {
	o.findings = slices.Clone(o.findings)
	for i := range o.findings {
		o.findings[i].Passing = true
	}
	return o
}

// IsPassing reports whether the conditions stay as they were, because another pass follows in a
// moment: all findings of the worst [State] are [Outcome.Passing], or the attempt
// [Outcome.IsSuperseded]. A condition that was False for a moment would tell a user of a fault that
// is none. An Outcome that a [Pass] has found passing for 5 seconds is not passing any longer.
func (o Outcome) IsPassing() bool {
	worst := o.Worst().State
	remains := func(f Finding) bool { return f.State == worst && !f.Passing }
	return !o.lasts && (o.IsSuperseded() || !o.IsDone() && !slices.ContainsFunc(o.findings, remains))
}

func (o Outcome) isGone() bool {
	_, isGone := errors.AsType[goneError](o.err)
	return isGone
}

// Messages returns the message of every [Finding] in their order, each message once.
func (o Outcome) Messages() []string {
	var all []string
	for _, f := range o.findings {
		if !slices.Contains(all, f.Message) {
			all = append(all, f.Message)
		}
	}
	return all
}

// Worst returns the [Finding] that decides: the first one with the worst State. If the [Outcome]
// is done, Worst returns the zero Finding.
func (o Outcome) Worst() Finding {
	if o.IsDone() {
		return Finding{}
	}
	return slices.MaxFunc(o.findings, func(a, b Finding) int { return cmp.Compare(a.State, b.State) })
}

// Message returns the message of every [Finding], worst [State] first, for
// status.conditions[].message.
func (o Outcome) Message() string {
	sorted := slices.SortedStableFunc(slices.Values(o.findings), func(a, b Finding) int {
		return cmp.Compare(b.State, a.State)
	})
	parts := make([]string, 0, len(sorted))
	for _, f := range sorted {
		if !slices.Contains(parts, f.Message) {
			parts = append(parts, f.Message)
		}
	}
	return strings.Join(parts, "; ")
}

// Result returns the answer for the work queue: an error for a failure (back-off),
// Result.RequeueAfter for [WaitFor], and the zero Result for a [Wait] that a watch will end. A
// Conflict is no failure: another client wrote first, and the cache shows that write in a moment,
// so the pass is repeated after [ConflictRetry]. An object that is gone has its last pass when the watch shows the
// deletion.
func (o Outcome) Result() (ctrl.Result, error) {
	if o.isGone() {
		return ctrl.Result{}, nil
	}
	if o.IsSuperseded() {
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	if o.err != nil {
		return ctrl.Result{}, o.err
	}
	return reconcile.Result{RequeueAfter: o.after}, nil
}
