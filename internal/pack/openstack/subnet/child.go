package subnet

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// children creates and deletes the RouterInterface of a Subnet with spec.resource.routerRef.
type children struct {
	live client.Client
}

func childOf(s object) *openstackv1alpha1.RouterInterface {
	return &openstackv1alpha1.RouterInterface{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: s.Name + "-subnet",
	}}
}

// isOwnedBy reports whether a RouterInterface was created for a Subnet. An owner reference
// without `controller: true` counts too: the published operator writes such owner references.
func isOwnedBy(child *openstackv1alpha1.RouterInterface, s object) bool {
	return slices.ContainsFunc(child.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == s.UID })
}

// compose creates the RouterInterface. All fields of a RouterInterface are immutable, so
// compose never changes it.
func (c children) compose(ctx context.Context, in external.Input[object]) reconcile.Outcome {
	s := in.Object
	if s.Spec.Resource == nil || s.Spec.Resource.RouterRef == nil {
		return reconcile.Outcome{}
	}
	child := childOf(s)
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, kit.GVK(kind))}
	child.OwnerReferences[0].BlockOwnerDeletion = nil // Guards decide the order of deletion.
	self := openstackv1alpha1.KubernetesNameRef(s.Name)
	child.Spec = openstackv1alpha1.RouterInterfaceSpec{
		Type: openstackv1alpha1.RouterInterfaceTypeSubnet, RouterRef: *s.Spec.Resource.RouterRef, SubnetRef: &self,
	}
	err := c.live.Create(ctx, child, client.FieldOwner(kit.Finalizer(kind)+"controller"))
	if err == nil {
		return reconcile.Outcome{}
	}
	if !apierrors.IsAlreadyExists(err) {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("create RouterInterface %s: %w", child.Name, err))
	}
	if err := c.live.Get(ctx, client.ObjectKeyFromObject(child), child); err != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("read RouterInterface %s: %w", child.Name, err))
	}
	if !isOwnedBy(child, s) {
		return reconcile.Progress(condition.ReasonProgressing, "RouterInterface/%s exists and this Subnet does not own it: "+
			"delete it, or leave out spec.resource.routerRef", child.Name)
	}
	return reconcile.Outcome{}
}

// dissolve deletes the RouterInterface of a Subnet that is being deleted. The garbage collector
// would delete the RouterInterface only after the Subnet, but the Subnet waits for the guard of
// its RouterInterface.
func (c children) dissolve(ctx context.Context, s object) reconcile.Outcome {
	if s.Spec.Resource == nil || s.Spec.Resource.RouterRef == nil {
		return reconcile.Outcome{}
	}
	child := childOf(s)
	err := c.live.Get(ctx, client.ObjectKeyFromObject(child), child)
	if err == nil && isOwnedBy(child, s) && child.DeletionTimestamp == nil {
		// The resourceVersion protects a finalizer that is added after the read.
		err = c.live.Delete(ctx, child, client.Preconditions{UID: &child.UID, ResourceVersion: &child.ResourceVersion})
	}
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Fail(condition.ReasonTransientError, fmt.Errorf("delete RouterInterface %s: %w", child.Name, err))
	}
	return reconcile.Outcome{}
}
