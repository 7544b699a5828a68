package iot

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// An IotConnector that was restored from a backup has another uid and an empty inventory. Its
// restored Deployments name the former uid as owner, or no owner. The operator neither takes
// over such a Deployment nor deletes the Deployment, because every user who may write a
// Deployment may write its labels. The labels only decide what the message says.

// byConnector is the index of Deployments by the name of their IotConnector.
const byConnector = "connector"

// restoredText begins every message about an object of a former IotConnector. The text is part
// of the published API.
const restoredText = "Restored:"

// connectorOf returns the name of the IotConnector in an object's controller or, if the object
// has no controller, in its label.
func connectorOf(obj metav1.Object) string {
	if owner, ok := owned(obj); ok {
		return owner.Name
	}
	if metav1.GetControllerOfNoCopy(obj) != nil {
		return ""
	}
	return obj.GetLabels()[connectorLabel]
}

func indexConnector(obj any) ([]string, error) {
	o, ok := obj.(metav1.Object)
	if !ok || connectorOf(o) == "" {
		return nil, nil
	}
	return []string{types.NamespacedName{Namespace: o.GetNamespace(), Name: connectorOf(o)}.String()}, nil
}

// checkRestored stops a new IotConnector while Deployments of a former IotConnector of that name
// exist that are not wanted, such as Deployments of another version. Both versions would process
// the same data otherwise.
func (r *reconciler) checkRestored(_ context.Context, p *pass) reconcile.Outcome {
	if len(p.have) > 0 {
		return reconcile.Outcome{}
	}
	var former []object.ID
	var outcome reconcile.Outcome
	for _, d := range r.stores.Select(deploymentKind.GroupKind(), byConnector, p.id.NamespacedName().String()) {
		id := object.Of(d, deploymentKind.GroupKind())
		owner, isOwned := owned(d)
		if (isOwned && owner.UID == p.UID) || p.wants(id) {
			continue
		}
		former, outcome = append(former, id), outcome.And(r.nameTaken(p, id))
	}
	if len(former) > 0 {
		r.stores.WaitFor(p.id, former...)
	}
	return outcome
}

// nameTaken tells a person what to do about an object that does not belong to the IotConnector.
func (r *reconciler) nameTaken(p *pass, id object.ID) reconcile.Outcome {
	var obj client.Object = &metav1.PartialObjectMetadata{}
	if found := r.stores.Object(id); found != nil {
		obj = found
	}
	owner, isOwned := owned(obj)
	isRestored := connectorOf(obj) == p.Name && (!isOwned || owner.UID != p.UID)
	switch {
	case isOwned && isRestored:
		return reconcile.Wait(reasonTerminating, "%s %s belongs to a former IotConnector of this name: "+
			"waiting until the garbage collector has deleted it", restoredText, id.Short())
	case isRestored:
		return reconcile.Refuse(reasonNameTaken, "%s %s was made for a former IotConnector of this name and has no owner: "+
			"delete it to have it created anew, or keep it with IotConnector %s, uid %s, as its controller",
			restoredText, id.Short(), p.Name, p.UID)
	default:
		return reconcile.Refuse(reasonNameTaken,
			"%s exists and belongs to somebody else: remove it, or choose another name", id.Short())
	}
}
