package iot

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// A restored IotConnector has another uid and no inventory, and the objects that a backup has
// of its former self name another owner, or none. The operator neither takes these objects
// over nor deletes them: anybody who may write them can write their labels. The labels only
// tell whom to ask.

// byConnector is the index of objects by the IotConnector that they were made for.
const byConnector = "connector"

// restoredText begins every message about an object that was made for another IotConnector of
// the same name. It is published.
const restoredText = "Restored:"

// connectorOf returns the name of the IotConnector that an object was made for, by its controller
// or, if it has none, by its label.
func connectorOf(obj metav1.Object) string {
	if owner, ok := owned(obj); ok {
		return owner.Name
	}
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return ""
	}
	return obj.GetLabels()[connectorLabel]
}

// left returns the Deployments in no inventory that were made for another IotConnector of a
// name.
func (v *view) left(connector types.NamespacedName, uid types.UID) []object.ID {
	found, err := v.indexers[deploymentKind.GroupKind()].ByIndex(byConnector, connector.String())
	if err != nil {
		return nil
	}
	var all []object.ID
	for _, f := range found {
		obj := f.(metav1.Object)
		if owner, ok := owned(obj); !ok || owner.UID != uid {
			all = append(all, object.Of(obj, deploymentKind.GroupKind()))
		}
	}
	slices.SortFunc(all, object.Compare)
	return all
}

// restoredFrom reports whether an object was made for another IotConnector of this name, and
// whether it still names that one as its owner.
func (v *view) restoredFrom(p *pass, id object.ID) (restored, isOwned bool) {
	indexer, ok := v.indexers[id.GroupKind()]
	if !ok {
		return false, false
	}
	found, exists, err := indexer.GetByKey(id.NamespacedName().String())
	if err != nil || !exists {
		return false, false
	}
	obj := found.(metav1.Object)
	owner, isOwned := owned(obj)
	return connectorOf(obj) == p.Name && (!isOwned || owner.UID != p.UID), isOwned
}

// askRestored keeps a connector that has made nothing yet from making anything, while a
// Deployment of its former self serves that is not wanted, such as that of another version:
// both would serve.
func (r *reconciler) askRestored(p *pass, want []apply.Object) reconcile.Outcome {
	if len(p.have) > 0 {
		return reconcile.Outcome{}
	}
	key := client.ObjectKeyFromObject(p.IotConnector)
	left := slices.DeleteFunc(r.view.left(key, p.UID), func(id object.ID) bool {
		return slices.ContainsFunc(want, func(o apply.Object) bool { return o.ID() == id })
	})
	if len(left) == 0 {
		return reconcile.Outcome{}
	}
	r.blocked.set(key, left)
	var outcome reconcile.Outcome
	for _, id := range left {
		outcome = outcome.And(r.inTheWay(p, id))
	}
	return outcome
}

// inTheWay says what a person has to do about an object that is somebody else's.
func (r *reconciler) inTheWay(p *pass, id object.ID) reconcile.Outcome {
	restored, isOwned := r.view.restoredFrom(p, id)
	switch {
	case isOwned && restored:
		return reconcile.Wait(reasonTerminating, "%s %s belongs to a former IotConnector of this name: "+
			"waiting until the garbage collector has deleted it", restoredText, id.Short())
	case restored:
		return reconcile.Refuse(reasonNameTaken, "%s %s was made for a former IotConnector of this name and has no owner: "+
			"delete it to have what is needed made anew, or keep it with IotConnector %s, uid %s, as its controller",
			restoredText, id.Short(), p.Name, p.UID)
	default:
		return reconcile.Refuse(reasonNameTaken,
			"%s exists and belongs to somebody else: remove it, or choose another name", id.Short())
	}
}
