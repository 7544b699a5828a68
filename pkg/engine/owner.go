package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// ownership is the result of decideOwner.
type ownership int

const (
	owned     ownership = iota // the object has the owner reference
	unowned                    // the owner reference is to be added
	succeeded                  // the owner reference has the UID of a former object of the same name
	taken                      // another object is the controller
	apart                      // the owner is in another namespace
)

// decideOwner decides whether an object gets an owner reference to its owner.
func decideOwner(obj, owner metav1.Object, gk schema.GroupKind) ownership {
	references := obj.GetOwnerReferences()
	if object.IsOwnedBy(obj, owner.GetUID()) {
		return owned
	}
	if owner.GetNamespace() != "" && owner.GetNamespace() != obj.GetNamespace() {
		return apart
	}
	for _, r := range references {
		kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
		if kind == gk && r.Name == owner.GetName() {
			return succeeded
		}
	}
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return taken
	}
	return unowned
}

// Own adds the missing owner references to an object, one for each target of a relation with
// role Owner. Each is a controller reference with the UID of the owner, so that the garbage
// collector deletes the object after its owner. Own changes obj, and writes obj with the
// [reconcile.Writer].
//
// Own never changes the UID of an existing owner reference. If Team/red was deleted and created
// anew, the garbage collector deletes the objects of the old Team/red. Until then, the Outcome
// waits for their deletion.
func (e *Engine) Own(
	ctx context.Context, w *reconcile.Writer, gk schema.GroupKind, obj client.Object, refs Refs,
) reconcile.Outcome {
	before, id := obj.DeepCopyObject().(client.Object), object.Of(obj, gk)
	if o := e.SetOwners(obj, refs); !o.IsDone() {
		return o
	}
	_, err := w.Object(ctx, id, before, obj)
	return reconcile.Fail(e.options.Reasons.Failed, err)
}

// SetOwners is [Engine.Own] without the write: SetOwners only changes obj.
func (e *Engine) SetOwners(obj client.Object, refs Refs) reconcile.Outcome {
	var outcome reconcile.Outcome
	for _, t := range refs.targets {
		if t.relation.Role != relation.Owner || t.object == nil {
			continue
		}
		short := t.edge.Target.Short()
		switch decideOwner(obj, t.object, t.member.gk()) {
		case owned:
		case unowned:
			obj.SetOwnerReferences(append(obj.GetOwnerReferences(), *metav1.NewControllerRef(t.object, t.member.GVK)))
		case succeeded:
			outcome = outcome.And(reconcile.Wait(e.options.Reasons.Waiting,
				"Waiting to be deleted with the former %s: the present one has uid %s and does not own this object",
				short, t.object.GetUID()))
		case taken:
			outcome = outcome.And(reconcile.Refuse(e.options.Reasons.Refused,
				"%s can't own this object: %s is its controller", short, metav1.GetControllerOfNoCopy(obj).Name))
		case apart:
			outcome = outcome.And(reconcile.Refuse(e.options.Reasons.Refused,
				"%s can't own this object: an owner is in the same namespace or has none", short))
		}
	}
	if outcome.IsDone() {
		e.labelOwner(obj, refs)
	}
	return outcome
}

// ownerLabels are the names of labels of [Options.OwnerLabels].
var ownerLabels = []string{"owner-name", "owner-kind", "owner-uid"}

// CopyOwners copies to an object what [Engine.SetOwners] has set on another one: a server-side apply that lacks an
// owner reference of an earlier apply would remove the reference.
func (e *Engine) CopyOwners(to metav1.Object, gk schema.GroupKind, from client.Object) {
	var references []metav1.OwnerReference
	for _, edge := range e.Edges(gk, from) {
		for _, r := range from.GetOwnerReferences() {
			kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
			if edge.Role == relation.Owner && kind == edge.Target.GroupKind() && r.Name == edge.Target.Name {
				references = append(references, r)
			}
		}
	}
	to.SetOwnerReferences(references)
	labels := map[string]string{}
	for _, name := range ownerLabels {
		key := e.options.OwnerLabels + "/" + name
		if value, ok := from.GetLabels()[key]; ok && len(references) > 0 {
			labels[key] = value
		}
	}
	if len(labels) > 0 {
		to.SetLabels(labels)
	}
}

// labelOwner sets the labels of [Options.OwnerLabels] for the first owner.
func (e *Engine) labelOwner(obj client.Object, refs Refs) {
	if e.options.OwnerLabels == "" {
		return
	}
	for _, t := range refs.targets {
		if t.relation.Role != relation.Owner || t.object == nil {
			continue
		}
		labels := maps.Clone(obj.GetLabels())
		if labels == nil {
			labels = map[string]string{}
		}
		labels[e.options.OwnerLabels+"/owner-name"] = labelValue(t.object.GetName())
		labels[e.options.OwnerLabels+"/owner-kind"] = labelValue(t.edge.Target.Kind)
		labels[e.options.OwnerLabels+"/owner-uid"] = string(t.object.GetUID())
		obj.SetLabels(labels)
		return
	}
}

// labelValue returns a text as the value of a label. The name of an object may be longer.
func labelValue(text string) string {
	return strings.TrimRight(text[:min(len(text), validation.LabelValueMaxLength)], "-.")
}

// Owned returns the objects that an object owns, directly or through others, by their edges of role
// [relation.Owner]. The order is fixed.
func (e *Engine) Owned(id object.ID) []object.ID {
	all := []object.ID{id}
	seen := map[object.ID]bool{id: true}
	for i := 0; i < len(all); i++ {
		for _, edge := range e.index.Targeting(relation.Object{ID: all[i]}) {
			if edge.Role == relation.Owner && !seen[edge.Declarer] {
				seen[edge.Declarer] = true
				all = append(all, edge.Declarer)
			}
		}
	}
	return all[1:]
}

// Guards returns the objects that keep an object by a guard that is on the object now, in a fixed
// order.
func (e *Engine) Guards(id object.ID) (sources []object.ID) {
	obj := e.Get(id)
	if obj == nil {
		return nil
	}
	for _, name := range obj.GetFinalizers() {
		for _, source := range e.Sources(id, name) {
			if !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	return sources
}
