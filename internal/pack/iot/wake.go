package iot

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// changedByOthers lets through what a connector's own status did not cause. Other
// people's changes of a status are undone with the next one of ours; admission
// allows nobody else to make them.
var changedByOthers = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*iotv1alpha1.IotConnector), e.ObjectNew.(*iotv1alpha1.IotConnector)
	return before.Generation != after.Generation || before.UID != after.UID ||
		!equality.Semantic.DeepEqual(before.Finalizers, after.Finalizers) ||
		!equality.Semantic.DeepEqual(before.DeletionTimestamp, after.DeletionTimestamp) ||
		before.Annotations[iotv1alpha1.AnnotationPreviousSpec] != after.Annotations[iotv1alpha1.AnnotationPreviousSpec]
}}

// changedForUs lets through what makes a difference: who owns an object, what of it
// is ours, whether it goes, whether somebody keeps it, and how far a Deployment got.
var changedForUs = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := apply.Observe(e.ObjectOld, fieldOwner), apply.Observe(e.ObjectNew, fieldOwner)
	before.Version, after.Version = "", ""
	if before != after || !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) {
		return true
	}
	old, ok := e.ObjectOld.(*appsv1.Deployment)
	if !ok {
		return false
	}
	return progress(old) != progress(e.ObjectNew.(*appsv1.Deployment))
}}

// progress tells how far a Deployment got.
func progress(d *appsv1.Deployment) string {
	ok, missing := available(d)
	if ok {
		return ""
	}
	said, _ := exceeded(d)
	return missing + said
}

// wakes the connector that controls an object, the one that did before the
// change, and those that wait for the object's name.
func (r *reconciler) wakes(gk schema.GroupKind) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[ctrl.Request]
	wake := func(q queue, obj client.Object) {
		if owner, ok := owned(obj); ok {
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}})
		}
		for _, connector := range r.blocked.waiting(object.Of(obj, gk)) {
			q.Add(ctrl.Request{NamespacedName: connector})
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			wake(q, e.ObjectOld)
			wake(q, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			r.applier.Gone(object.Of(e.Object, gk), e.Object.GetUID())
			wake(q, e.Object)
		},
	}
}
