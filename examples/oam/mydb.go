package oam

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Mydb is a kind of workload that no trait knows.
var Mydb = schema.GroupVersionKind{Group: "standard.oam.dev", Version: "v1alpha2", Kind: "Mydb"}

// AddMydb adds the controller of Mydbs to a manager. A Mydb is made of a Deployment and a Service, which
// the Mydb controls: by that, traits find them.
func AddMydb(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(blank(Mydb)).Owns(&appsv1.Deployment{}).Owns(&corev1.Service{}).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			db := blank(Mydb)
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, db); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			return reconcile.Result{}, makeMydb(ctx, mgr.GetClient(), db)
		}))
}

func makeMydb(ctx context.Context, c client.Client, db *unstructured.Unstructured) error {
	meta := metav1.ObjectMeta{Namespace: db.GetNamespace(), Name: db.GetName()}
	labels := map[string]string{"mydb": db.GetName()}
	deployment, service := &appsv1.Deployment{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta}
	if _, err := controllerutil.CreateOrUpdate(ctx, c, deployment, func() error {
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		deployment.Spec.Template.Spec.Containers = containers(db)
		return controllerutil.SetControllerReference(db, deployment, c.Scheme())
	}); err != nil {
		return err
	}
	_, err := controllerutil.CreateOrUpdate(ctx, c, service, func() error {
		service.Spec.Selector = labels
		service.Spec.Ports = []corev1.ServicePort{{Port: 3306}}
		return controllerutil.SetControllerReference(db, service, c.Scheme())
	})
	return err
}

func containers(db *unstructured.Unstructured) []corev1.Container {
	listed, _, _ := unstructured.NestedSlice(db.Object, "spec", "containers")
	all := make([]corev1.Container, 0, len(listed))
	for _, c := range listed {
		content, _ := c.(map[string]any)
		name, _ := content["name"].(string)
		image, _ := content["image"].(string)
		all = append(all, corev1.Container{Name: name, Image: image})
	}
	return all
}

func blank(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}
