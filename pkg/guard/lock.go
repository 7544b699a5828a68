package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	ctrl "sigs.k8s.io/controller-runtime"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Lock keeps a label on exactly the objects that are [relation.Held], and is the only writer of
// the label. [Lock.Ensure] may be called from many goroutines: turns keeps a call that removes the
// label from overtaking a call that adds the label.
type Lock struct {
	// Label is the key of the label, [Lock.Value] its value.
	Label, Value string
	// Hold decides whether an object needs the label. Call [Lock.Ensure] whenever the answer of Hold
	// may have changed.
	Hold func(relation.Object) relation.Hold
	// Watcher has the objects.
	Watcher *relation.Watcher
	// Metadata writes the label.
	Metadata metadata.Interface
	// FieldOwner is the field manager to write as.
	FieldOwner string

	turns  turns
	writes watch.Overlay[relation.Object]
}

// On reports whether metadata.labels contains the label.
func (l *Lock) On(obj relation.Object) bool { return obj.Labels[l.Label] == l.Value }

// Settled reports whether an object of the [relation.Watcher] has the label, or was given the label by a newer own
// write. An object that is [relation.Held] and settled needs no [Lock.Ensure].
func (l *Lock) Settled(obj relation.Object) bool {
	written, ahead := l.writes.Look(obj.ID, func() string { return obj.Version })
	if ahead {
		obj = written
	}
	return l.On(obj)
}

// Selector implements [relation.Mark].
func (l *Lock) Selector() *relation.Selector {
	return &relation.Selector{Labels: map[string]string{l.Label: l.Value}}
}

// Wrong reports whether [Lock.Ensure] must write the label: the object is [relation.Held] and
// lacks the label, or is [relation.Free] and has the label. An object with a
// metadata.deletionTimestamp does not get the label any more.
func (l *Lock) Wrong(obj relation.Object) bool {
	switch l.Hold(obj) {
	case relation.Held:
		return !l.On(obj) && !obj.Deleting
	case relation.Free:
		return l.On(obj)
	default:
		return false
	}
}

// Corrected implements [relation.Mark].
func (l *Lock) Corrected(before, now relation.Object) bool {
	same := before.UID == now.UID && before.Deleting == now.Deleting && before.Controller == now.Controller
	if !same || l.On(before) == l.On(now) || l.Wrong(now) {
		return false
	}
	others := maps.Clone(now.Labels)
	delete(others, l.Label)
	for key, value := range before.Labels {
		if other, ok := others[key]; key != l.Label && (!ok || other != value) {
			return false
		}
		delete(others, key)
	}
	return len(others) == 0
}

// Get returns an object from the [relation.Watcher] or from the last own write, whichever is
// newer.
func (l *Lock) Get(id object.ID) (relation.Object, relation.Presence) {
	var seen relation.Object
	var presence relation.Presence
	written, ahead := l.writes.Look(id, func() string {
		seen, presence = l.Watcher.Get(id)
		return seen.Version
	})
	switch {
	case ahead && presence == relation.Present && written.UID == seen.UID:
		return written, presence
	case ahead: // The Watcher has a newer state: the object was deleted or replaced.
		l.writes.ForgetIf(id, func(last relation.Object) bool { return last.Version == written.Version })
	}
	return seen, presence
}

// Seen drops an own write once the Watcher shows it. Register Seen with
// [relation.Watcher.OnObject]; without Seen, the last write to every object that was ever
// locked stays in memory.
func (l *Lock) Seen(c relation.Change) {
	if c.New != nil {
		l.writes.Ahead(c.New.ID, c.New.Version)
		return
	}
	l.writes.ForgetIf(c.Old.ID, func(last relation.Object) bool { return last.UID == c.Old.UID })
}

// Ensure corrects the label of one object and returns the object after the write. The merge
// patch carries metadata.uid, so it never changes another object of the same name. If the
// object is deleted or replaced meanwhile, Ensure returns no error: the watch reports both.
func (l *Lock) Ensure(ctx context.Context, id object.ID) (relation.Object, relation.Presence, error) {
	defer l.turns.take(id)()
	obj, presence := l.Get(id)
	if presence != relation.Present || !l.Wrong(obj) {
		return obj, presence, nil
	}
	var value *string
	if !l.On(obj) {
		value = &l.Value
	}
	written, err := l.write(ctx, obj, value)
	if reconcile.IsSuperseded(err) {
		return obj, presence, nil
	}
	return written, presence, err
}

// Reconcile calls [Lock.Ensure] for a work queue.
func (l *Lock) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	_, _, err := l.Ensure(ctx, id)
	return reconcile.Fail(sharedv1alpha1.ReasonFailed, err).Result()
}

func (l *Lock) write(ctx context.Context, obj relation.Object, value *string) (relation.Object, error) {
	mapping, err := l.Watcher.Mapping(obj.ID.GroupKind().WithVersion(""))
	if err != nil {
		return obj, fmt.Errorf("lock %s: %w", obj.ID, err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid":    obj.UID,
		"labels": map[string]any{l.Label: value},
	}})
	if err != nil {
		return obj, fmt.Errorf("lock %s: %w", obj.ID, err)
	}
	answer, err := l.Metadata.Resource(mapping.Resource).Namespace(obj.ID.Namespace).
		Patch(ctx, obj.ID.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: l.FieldOwner})
	if err != nil {
		return obj, fmt.Errorf("lock %s: %w", obj.ID, err)
	}
	written := relation.ObjectOf(obj.ID.GroupKind(), answer)
	logr.FromContextOrDiscard(ctx).V(1).Info("Wrote label", "object", obj.ID.String(),
		"label", l.Label, "on", value != nil)
	l.writes.Wrote(obj.ID, written.Version, written)
	l.Get(obj.ID) // Drops the write if the Watcher shows it already.
	return written, nil
}
