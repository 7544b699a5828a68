package condition

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// Types and reasons of the conditions of resources outside Kubernetes.
const (
	Available   = "Available"
	Progressing = "Progressing"
	Ready       = "Ready"
	Drifted     = "Drifted"

	ReasonSuccess              = "Success"
	ReasonProgressing          = "Progressing"
	ReasonTransientError       = "TransientError"
	ReasonInvalidConfiguration = "InvalidConfiguration"
	ReasonUnrecoverableError   = "UnrecoverableError"
	ReasonImmutable            = "Immutable"
)

// Sight is what a pass saw of a resource.
type Sight int

const (
	// Unread means that it does not exist yet, or could not be read.
	Unread Sight = iota
	// Lacking means that it exists and does not serve.
	Lacking
	// Serving means that it can be used.
	Serving
)

// SetExternal writes the outcome of a pass over a resource outside Kubernetes, and
// reports whether that changed anything. noun is what messages call the resource;
// exists says that its id is known.
func SetExternal(
	list *[]metav1.Condition, noun string, outcome reconcile.Outcome, sight Sight, exists bool, generation int64,
) bool {
	progressing := progressingOf(noun, outcome)
	available := metav1.Condition{
		Type: Available, Status: metav1.ConditionTrue, Reason: ReasonSuccess, Message: noun + " is available",
	}
	if sight != Serving {
		available.Status, available.Reason, available.Message = metav1.ConditionFalse, progressing.Reason, progressing.Message
		if sight == Unread && exists && outcome.Worst().State != reconcile.Invalid {
			available.Status = metav1.ConditionUnknown
		}
	}
	ready := available
	ready.Type = Ready
	if !outcome.IsDone() {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, progressing.Reason, progressing.Message
	}
	if ready.Status == metav1.ConditionUnknown {
		ready.Status = metav1.ConditionFalse
	}
	for _, c := range []*metav1.Condition{&available, &progressing, &ready} {
		c.ObservedGeneration = generation
	}
	return Set(list, available, progressing, ready)
}

// progressingOf is True while the controller expects to run again.
func progressingOf(noun string, outcome reconcile.Outcome) metav1.Condition {
	c := metav1.Condition{
		Type: Progressing, Status: metav1.ConditionFalse, Reason: ReasonSuccess, Message: noun + " is up to date",
	}
	if outcome.IsDone() {
		return c
	}
	c.Message = clip(strings.Join(outcome.Messages(), "\n"))
	switch worst := outcome.Worst(); worst.State {
	case reconcile.Invalid:
		c.Reason, c.Message = worst.Reason, clip(worst.Message)
	case reconcile.Failed:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonTransientError
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonProgressing
	}
	return c
}

// SetDeleting writes the outcome of a pass over an object that is being deleted.
// What was last seen of its resource stays as it was.
func SetDeleting(list *[]metav1.Condition, noun string, outcome reconcile.Outcome, generation int64) bool {
	progressing := progressingOf(noun, outcome)
	ready := progressing
	ready.Type, ready.Status = Ready, metav1.ConditionFalse
	progressing.ObservedGeneration, ready.ObservedGeneration = generation, generation
	return Set(list, progressing, ready)
}

// SetDrifted says in what a resource is not as its spec wants it and can't be changed,
// and reports whether that changed anything. The condition is only there while there is
// something to tell: what serves all the same is no less Available for it.
func SetDrifted(list *[]metav1.Condition, noun string, drift []string, generation int64) bool {
	if len(drift) == 0 {
		return meta.RemoveStatusCondition(list, Drifted)
	}
	return Set(list, metav1.Condition{
		Type: Drifted, Status: metav1.ConditionTrue, Reason: ReasonImmutable, ObservedGeneration: generation,
		Message: clip(noun + " differs in what can't be changed: " + strings.Join(drift, ", ") +
			". Correct it there, or delete and create the object to have another made"),
	})
}
