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

	ReasonInUse               = "InUse" // This one and the next ones are reasons of External.Specific.
	ReasonWaitingForOwner     = "WaitingForOwner"
	ReasonWaitingForReference = "WaitingForReference"
	ReasonCreating            = "Creating"
	ReasonUpdating            = "Updating"
	ReasonDeleting            = "Deleting"
)

// Sight is the state of a resource in the cloud, as a pass has read the resource.
type Sight int

const (
	// Unread means that the resource does not exist yet, or could not be read.
	Unread Sight = iota
	// Lacking means that the resource exists and can't be used, such as a LoadBalancer whose
	// provisioning_status is ERROR.
	Lacking
	// Serving means that the resource can be used.
	Serving
)

// External writes the conditions of objects such as a Subnet of OpenStack, whose resource exists
// outside Kubernetes.
//
// The published vocabulary is Available and Progressing, in this order and without further
// conditions, because users of openstack.k-orc.cloud compare the whole list of conditions. A
// condition of a single kind, such as Downloading of an Image, keeps its place: before Available if the object had no
// condition when Downloading was set, otherwise last.
type External struct {
	// Noun names the resource in messages, such as "OpenStack resource".
	Noun string
	// Summary adds Ready and, while Pass.Drift is not empty, Drifted, after Available and
	// Progressing. Without Summary, External.Set and External.Amend remove Ready and Drifted.
	Summary bool
	// Specific keeps the reason of a Pass.Outcome that waits or failed, such as WaitingForOwner.
	// Without Specific, the reasons are Progressing and TransientError.
	Specific bool
}

// Pass is the result of one reconciliation of an object.
type Pass struct {
	Outcome reconcile.Outcome
	Sight   Sight
	// Exists is set if status.id holds the id of the resource.
	Exists bool
	// Deleting is set if the object has a metadata.deletionTimestamp. Available then stays as
	// it was, unless Pass.Sight is Lacking or Serving.
	Deleting bool
	// Drift lists the fields of the resource that differ from spec.resource and can't be
	// changed, such as "dns_domain is a., not b.".
	Drift []string
	// Generation is metadata.generation of the object.
	Generation int64
}

// Set writes the conditions of a Pass, and reports whether the list has changed.
func (e External) Set(list *[]metav1.Condition, p Pass) bool {
	progressing := e.progressing(p)
	changed := false
	if !p.Deleting || p.Sight != Unread {
		changed = Set(list, e.available(p, progressing))
	}
	changed = Set(list, progressing) || changed
	return e.Amend(list, p.Drift) || changed
}

// available returns Available: True if Pass.Sight is Serving. Otherwise Available repeats reason
// and message of Progressing, and is Unknown if status.id is known but the resource is Unread.
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

// progressing returns Progressing: True while the controller will run again, as after a failure
// with ReasonTransientError.
func (e External) progressing(p Pass) metav1.Condition {
	c := metav1.Condition{
		Type: Progressing, Status: metav1.ConditionFalse, Reason: ReasonSuccess, Message: e.Noun + " is up to date",
		ObservedGeneration: p.Generation,
	}
	if p.Outcome.IsDone() {
		return c
	}
	c.Message = Clip(strings.Join(p.Outcome.Messages(), "\n"))
	switch worst := p.Outcome.Worst(); worst.State {
	case reconcile.Invalid:
		c.Reason, c.Message = worst.Reason, Clip(worst.Message)
	case reconcile.Failed:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonTransientError
	default:
		c.Status, c.Reason = metav1.ConditionTrue, ReasonProgressing
	}
	if reason := p.Outcome.Worst().Reason; e.Specific && reason != "" {
		c.Reason = reason
	}
	return c
}

// Amend corrects a list of conditions that was written earlier, perhaps by another operator of
// the same API such as ORC. Amend adds or removes Ready and Drifted according to
// External.Summary, restores the order, and reports whether the list has changed. Amend sends no
// request to the cloud: Ready and Drifted follow from Available, Progressing and drift.
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

// summaryOf returns Ready: True if Available is True and Progressing has ReasonSuccess. The result
// is nil for an object without Progressing.
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

// drifted returns Drifted, with the message of DriftMessage.
func (e External) drifted(list []metav1.Condition, drift []string) metav1.Condition {
	c := metav1.Condition{
		Type: Drifted, Status: metav1.ConditionTrue, Reason: ReasonImmutable, Message: DriftMessage(e.Noun, drift),
	}
	if progressing := meta.FindStatusCondition(list, Progressing); progressing != nil {
		c.ObservedGeneration = progressing.ObservedGeneration
	}
	return c
}

// DriftMessage returns the message of Drifted: the fields of Pass.Drift, and how to correct the
// fields. noun is External.Noun.
func DriftMessage(noun string, drift []string) string {
	return Clip(noun + " differs in what can't be changed: " + strings.Join(drift, ", ") +
		". Correct it there, or delete and create the object to have another made")
}

// arrange puts Ready and Drifted behind Available and Progressing, and reports whether the order has changed. The
// conditions of a single kind stay before or behind these four.
func arrange(list []metav1.Condition) bool {
	order := []string{Available, Progressing, Ready, Drifted}
	place := func(c metav1.Condition) int {
		if i := slices.Index(order, c.Type); i >= 0 {
			return i
		}
		return len(order)
	}
	compare := func(a, b metav1.Condition) int { return cmp.Compare(place(a), place(b)) }
	first := slices.IndexFunc(list, func(c metav1.Condition) bool { return place(c) < len(order) })
	if first < 0 || slices.IsSortedFunc(list[first:], compare) {
		return false
	}
	slices.SortStableFunc(list[first:], compare)
	return true
}
