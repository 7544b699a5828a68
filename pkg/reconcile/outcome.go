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

// State is where an object stands.
type State int

const (
	// Done means that there is nothing left to do.
	Done State = iota
	// Progressing means that something was begun and will end by itself.
	Progressing
	// Waiting means that something else has to happen first.
	Waiting
	// Failed means that an attempt failed and will be repeated.
	Failed
	// Invalid means that nothing will change until somebody changes the object.
	Invalid
)

// String returns the name of the state, for logs.
func (s State) String() string {
	return [...]string{"Done", "Progressing", "Waiting", "Failed", "Invalid"}[s]
}

// Finding is one thing that keeps an object from being done.
type Finding struct {
	State   State
	Reason  string // CamelCase, as in conditions
	Message string // names the object, and what will end it
}

// Outcome is the result of a step, or of several. The zero value is done.
type Outcome struct {
	findings []Finding
	err      error
	after    time.Duration
}

// Wait returns the outcome of waiting for something that a watch will report.
func Wait(reason, format string, args ...any) Outcome {
	return finding(Waiting, reason, format, args)
}

// WaitFor returns the outcome of waiting for a moment in time.
func WaitFor(d time.Duration, reason, format string, args ...any) Outcome {
	o := finding(Waiting, reason, format, args)
	o.after = max(d, time.Nanosecond) // A moment that has passed is now, not never.
	return o
}

// WaitForCache returns the outcome of waiting until a cache shows a write that the API server
// has already accepted. The object is looked at again after ConflictRetry.
func WaitForCache(reason, format string, args ...any) Outcome {
	return WaitFor(ConflictRetry, reason, format, args...)
}

// After returns an outcome that is done, and has the object looked at again after d: for
// comparisons that are due at a time. Zero means never.
func After(d time.Duration) Outcome { return Outcome{after: d} }

// Progress returns the outcome of something begun whose end a watch will report.
func Progress(reason, format string, args ...any) Outcome {
	return finding(Progressing, reason, format, args)
}

// Refuse returns the outcome of an object that can't be fulfilled as it is.
func Refuse(reason, format string, args ...any) Outcome {
	return finding(Invalid, reason, format, args)
}

// Fail returns the outcome of a failed attempt, which will be repeated with
// back-off. A nil error is done.
func Fail(reason string, err error) Outcome {
	if err == nil {
		return Outcome{}
	}
	o := finding(Failed, reason, "%s", []any{err.Error()})
	o.err = err
	return o
}

// Retry returns the outcome of a failed attempt that will be repeated at a moment
// which whoever refused it has named: there is no back-off, and no error to log.
func Retry(d time.Duration, reason string, err error) Outcome {
	o := finding(Failed, reason, "%s", []any{err.Error()})
	o.after = max(d, time.Nanosecond)
	return o
}

func finding(s State, reason, format string, args []any) Outcome {
	return Outcome{findings: []Finding{{State: s, Reason: reason, Message: fmt.Sprintf(format, args...)}}}
}

// And combines two outcomes: the worst state decides, every finding is kept, the
// earlier moment wins.
func (o Outcome) And(p Outcome) Outcome {
	o.findings = slices.Concat(o.findings, p.findings)
	o.err = errors.Join(o.err, p.err)
	if o.after == 0 || (p.after != 0 && p.after < o.after) {
		o.after = p.after
	}
	return o
}

// IsDone reports whether nothing is left to do.
func (o Outcome) IsDone() bool { return len(o.findings) == 0 }

// IsSuperseded reports whether an attempt failed because another client wrote an object at the
// same time. The pass is repeated after ConflictRetry, so a status needs not report the failure.
func (o Outcome) IsSuperseded() bool { return apierrors.IsConflict(o.err) }

// Messages returns what every finding says, in the order in which they were made,
// each once.
func (o Outcome) Messages() []string {
	var all []string
	for _, f := range o.findings {
		if !slices.Contains(all, f.Message) {
			all = append(all, f.Message)
		}
	}
	return all
}

// Worst returns the finding that decides, the first one among equals. It is the
// zero Finding when the outcome is done.
func (o Outcome) Worst() Finding {
	if o.IsDone() {
		return Finding{}
	}
	return slices.MaxFunc(o.findings, func(a, b Finding) int { return cmp.Compare(a.State, b.State) })
}

// Message returns every finding, worst first, for people.
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

// Result returns what to tell the work queue: back-off for failures, a moment for waits in
// time, nothing for a wait that a watch will end. A conflict is no failure: another client
// wrote first, and the cache shows that write in a moment, so the pass is repeated after
// ConflictRetry instead of a back-off.
func (o Outcome) Result() (ctrl.Result, error) {
	if o.IsSuperseded() {
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	if o.err != nil {
		return ctrl.Result{}, o.err
	}
	return reconcile.Result{RequeueAfter: o.after}, nil
}
