package condition

import (
	"cmp"
	"slices"
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

// External writes the conditions of objects whose resources live outside Kubernetes.
//
// The published vocabulary is Available and Progressing, in this order and nothing
// more: users of such an API compare the whole list. Conditions that a kind adds of its
// own, such as Downloading of an Image, come before these two.
type External struct {
	// Noun is what messages call a resource, such as "OpenStack resource".
	Noun string
	// Summary adds the conditions Ready, and Drifted while a resource has drifted, after
	// the published ones. Without Summary, Set and Amend remove these two.
	Summary bool
}

// Pass is the result of one reconciliation of an object.
type Pass struct {
	Outcome reconcile.Outcome
	Sight   Sight
	// Exists says that the id of the resource is known.
	Exists bool
	// Deleting says that the object is being deleted. Available is then kept, unless the
	// pass saw the resource.
	Deleting bool
	// Drift lists the fields of the resource that differ from the spec and can't be
	// changed, such as "dns_domain is a., not b.".
	Drift []string
	// Generation of the object.
	Generation int64
}

// Set writes the conditions of a pass, and reports whether that changed anything.
func (e External) Set(list *[]metav1.Condition, p Pass) bool {
	progressing := e.progressing(p)
	changed := false
	if !p.Deleting || p.Sight != Unread {
		changed = Set(list, e.available(p, progressing))
	}
	changed = Set(list, progressing) || changed
	return e.Amend(list, p.Drift) || changed
}

// available is True while the resource can be used. Otherwise Available repeats the
// reason and message of Progressing.
func (e External) available(p Pass, progressing metav1.Condition) metav1.Condition {
	c := metav1.Condition{
		Type: Available, Status: metav1.ConditionTrue, Reason: ReasonSuccess, Message: e.Noun + " is available",
		ObservedGeneration: p.Generation,
	}
	if p.Sight == Serving {
		return c
	}
	c.Status, c.Reason, c.Message = metav1.ConditionFalse, progressing.Reason, progressing.Message
	if p.Sight == Unread && p.Exists && p.Outcome.Worst().State != reconcile.Invalid {
		c.Status = metav1.ConditionUnknown
	}
	return c
}

// progressing is True while the controller expects to run again.
func (e External) progressing(p Pass) metav1.Condition {
	c := metav1.Condition{
		Type: Progressing, Status: metav1.ConditionFalse, Reason: ReasonSuccess, Message: e.Noun + " is up to date",
		ObservedGeneration: p.Generation,
	}
	if p.Outcome.IsDone() {
		return c
	}
	c.Message = clip(strings.Join(p.Outcome.Messages(), "\n"))
	switch worst := p.Outcome.Worst(); worst.State {
	case reconcile.Invalid:
		c.Reason, c.Message = worst.Reason, clip(worst.Message)
	case reconcile.Failed:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonTransientError
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonProgressing
	}
	return c
}

// Amend makes a list that was written earlier, perhaps by another operator of the same
// API, follow the vocabulary: it adds or removes the conditions of Summary and restores
// the order. It reports whether that changed anything. Amend needs no look at the
// resource, because Ready and Drifted follow from Available, Progressing and the drift.
func (e External) Amend(list *[]metav1.Condition, drift []string) bool {
	changed := false
	if ready := summaryOf(*list); e.Summary && ready != nil {
		changed = Set(list, *ready)
	} else {
		changed = meta.RemoveStatusCondition(list, Ready)
	}
	if e.Summary && len(drift) > 0 {
		changed = Set(list, e.drifted(*list, drift)) || changed
	} else {
		changed = meta.RemoveStatusCondition(list, Drifted) || changed
	}
	return arrange(*list) || changed
}

// summaryOf returns Ready: True when a resource is available and up to date. It returns
// nil for an object that has no Progressing yet.
func summaryOf(list []metav1.Condition) *metav1.Condition {
	progressing := meta.FindStatusCondition(list, Progressing)
	if progressing == nil {
		return nil
	}
	ready := *progressing
	ready.Type, ready.Status, ready.LastTransitionTime = Ready, metav1.ConditionFalse, metav1.Time{}
	available := meta.FindStatusCondition(list, Available)
	if available != nil && progressing.Reason == ReasonSuccess {
		ready.Reason, ready.Message = available.Reason, available.Message
		if available.Status == metav1.ConditionTrue {
			ready.Status = metav1.ConditionTrue
		}
	}
	return &ready
}

// drifted says in which fields a resource differs from its spec that can't be changed.
func (e External) drifted(list []metav1.Condition, drift []string) metav1.Condition {
	c := metav1.Condition{
		Type: Drifted, Status: metav1.ConditionTrue, Reason: ReasonImmutable, Message: DriftMessage(e.Noun, drift),
	}
	if progressing := meta.FindStatusCondition(list, Progressing); progressing != nil {
		c.ObservedGeneration = progressing.ObservedGeneration
	}
	return c
}

// DriftMessage says which fields of a resource differ from its spec and can't be
// changed, and how to end that. noun is what the message calls the resource.
func DriftMessage(noun string, drift []string) string {
	return clip(noun + " differs in what can't be changed: " + strings.Join(drift, ", ") +
		". Correct it there, or delete and create the object to have another made")
}

// arrange puts conditions into the published order and reports whether that changed it.
func arrange(list []metav1.Condition) bool {
	order := []string{Available, Progressing, Ready, Drifted} // Others have index -1.
	compare := func(a, b metav1.Condition) int {
		return cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type))
	}
	if slices.IsSortedFunc(list, compare) {
		return false
	}
	slices.SortStableFunc(list, compare)
	return true
}
