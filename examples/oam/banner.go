// Package oam has the examples of the pack oam: the application of seed 5, a controller of a workload
// that no trait knows (Mydb), and a controller of a trait that works for any workload (BannerTrait).
package oam

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/oam"
)

// Banner is a kind of traits. A BannerTrait writes spec.text into an annotation of the children of its
// workload.
var Banner = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "BannerTrait"}

// bannerKey is the annotation, and the field manager that writes it.
const bannerKey = "example.com/banner"

// AddBanner adds the controller of BannerTraits to a manager.
func AddBanner(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(blank(Banner)).
		Complete(reconcile.Func(func(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
			trait := blank(Banner)
			if err := mgr.GetClient().Get(ctx, req.NamespacedName, trait); err != nil {
				return reconcile.Result{}, client.IgnoreNotFound(err)
			}
			err := writeBanner(ctx, mgr.GetClient(), trait)
			if report := reportBanner(ctx, mgr.GetClient(), trait, err); report != nil {
				return reconcile.Result{}, report
			}
			return reconcile.Result{}, err // A workload that comes later is found by a later attempt.
		}))
}

// writeBanner writes the text on each child of the workload.
func writeBanner(ctx context.Context, c client.Client, trait *unstructured.Unstructured) error {
	content, _, _ := unstructured.NestedMap(trait.Object, "spec", "workload")
	var ref oamv1alpha2.TypedReference
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &ref); err != nil {
		return err
	}
	text, _, _ := unstructured.NestedString(trait.Object, "spec", "text")
	children, err := oam.Children(ctx, c, trait.GetNamespace(), ref)
	if err != nil {
		return err
	}
	for _, child := range children {
		sent := blank(child.GroupVersionKind())
		sent.SetNamespace(child.GetNamespace())
		sent.SetName(child.GetName())
		sent.SetUID(child.GetUID())
		sent.SetAnnotations(map[string]string{bannerKey: text})
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner(bannerKey))
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// reportBanner writes the condition of a trait, if it has changed.
func reportBanner(ctx context.Context, c client.Client, trait *unstructured.Unstructured, failure error) error {
	message := ""
	if failure != nil {
		message = failure.Error()
	}
	var status oamv1alpha2.ConditionedStatus
	content, _, _ := unstructured.NestedMap(trait.Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, &status); err != nil {
		return err
	}
	if !oam.SetSynced(&status, message) {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return err
	}
	before := trait.DeepCopy()
	trait.Object["status"] = content
	return c.Status().Patch(ctx, trait, client.MergeFrom(before))
}
