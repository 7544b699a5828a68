package engine

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// composedChanged requeues the objects of the [Engine] that a change of an object of [Options.Watcher]
// concerns: its controllers before and after the change, the objects that refer to the object or to one of
// these controllers, and the objects that wait for the object ([Engine.WaitFor]).
func (e *Engine) composedChanged(c relation.Change) {
	id := c.Object().ID
	for _, waiting := range e.waiters.WaitingFor(id) {
		e.Requeue(waiting)
	}
	owners := controllersOf(c)
	concerned := slices.Clone(owners)
	for _, target := range append(owners, id) {
		concerned = append(concerned, e.Sources(target, "")...)
	}
	for _, other := range concerned {
		m := e.member(other.GroupKind())
		if m != nil && (m.Composed == nil || m.Composed(other, c)) {
			m.queue.Add(other)
		}
	}
}

// controllersOf returns the controllers of an object before and after a change. A controller that the
// object has lost may have to take the object back.
func controllersOf(c relation.Change) []object.ID {
	var all []object.ID
	for _, obj := range []*relation.Object{c.Old, c.New} {
		if obj == nil {
			continue
		}
		if owner, ok := ControllerOf(*obj); ok && !slices.Contains(all, owner) {
			all = append(all, owner)
		}
	}
	return all
}

// ControllerOf returns the controller of an object of [Options.Watcher], and false if the object has none.
func ControllerOf(obj relation.Object) (object.ID, bool) {
	if obj.Content == nil {
		return object.ID{}, false
	}
	c := metav1.GetControllerOfNoCopy(obj.Content)
	if c == nil {
		return object.ID{}, false
	}
	gvk := schema.FromAPIVersionAndKind(c.APIVersion, c.Kind)
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.ID.Namespace, Name: c.Name}, true
}

// composedKindChanged requeues the users of a kind that was listed, installed or removed. Their edges are
// recorded anew, because Kind.Relations and Kind.Declares may depend on the kinds that are served.
func (e *Engine) composedKindChanged(gk schema.GroupKind) {
	for _, user := range e.options.Watcher.Users(gk) {
		if e.member(user.GroupKind()) != nil {
			e.Declare(user)
			e.Requeue(user)
		}
	}
}

// WaitFor has an object requeued by every event of some objects of [Options.Watcher], such as objects of
// another owner that have the names of its own. WaitFor replaces the objects of an earlier call; without
// objects, the object waits no longer.
func (e *Engine) WaitFor(id object.ID, objects ...object.ID) { e.waiters.WaitFor(id, objects...) }

// Use has [Options.Watcher] watch some kinds for an object, in place of the kinds of the last call, and
// returns [Engine.Listed]. Without kinds, the object needs none any more.
func (e *Engine) Use(user object.ID, kinds ...schema.GroupKind) reconcile.Outcome {
	e.options.Watcher.Use(user, kinds...)
	return e.Listed(kinds...)
}

// Listed waits until the objects of kinds in use are known. The wait for a kind that is being listed is
// passing ([reconcile.Outcome.Passing]), and the wait for a kind that can't be watched is not.
func (e *Engine) Listed(kinds ...schema.GroupKind) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, gk := range kinds {
		switch problem := e.options.Watcher.Problem(gk); {
		case e.options.Watcher.Ready(gk):
		case problem != nil:
			outcome = outcome.And(reconcile.Wait(e.options.Reasons.Waiting, "%s can't be watched: %s", gk, problem))
		default:
			outcome = outcome.And(reconcile.Wait(e.options.Reasons.Waiting, "waiting for the list of %s", gk).Passing())
		}
	}
	return outcome
}
