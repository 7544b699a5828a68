package guard

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Finalizers keeps the objects of one kind, such as Network, while other objects refer to them.
// Finalizers puts one finalizer for each referring kind on the object:
// openstack.k-orc.cloud/subnet while a Subnet refers to the Network. [Finalizers.Reconcile] is
// the guard controller of the kind. Finalizers is safe for concurrent use.
type Finalizers struct {
	// Kind that is guarded.
	Kind schema.GroupVersionKind
	// Names are the values that Finalizers may add to metadata.finalizers.
	Names []string
	// FieldOwners are the field managers that apply finalizers, by finalizer. The field
	// manager of a finalizer that is not listed is its name followed by "controller".
	// Several finalizers may have one field manager.
	FieldOwners map[string]string
	// Client writes to the API server.
	Client client.Client
	// Get returns an object from the cache, or nil.
	Get func(object.ID) metav1.Object
	// InUse reports whether an object of the finalizer's referring kind refers to the target.
	// InUse returns an error if the answer is not known.
	InUse func(ctx context.Context, target object.ID, finalizer string) (bool, error)

	writes watch.Overlay[[]string] // the finalizers after a write
	turns  turns
}

// Hold adds a finalizer to an object before the object is used. Hold reports false if the
// object has another metadata.uid (deleted or replaced) or a metadata.deletionTimestamp: the
// watch reports each of these.
func (f *Finalizers) Hold(ctx context.Context, target metav1.Object, finalizer string) (bool, error) {
	id := object.Of(target, f.Kind.GroupKind())
	defer f.turns.take(id)()
	target = f.newest(id, target)
	if f.holds(id, target, finalizer) {
		return true, nil
	}
	if target.GetDeletionTimestamp() != nil {
		return false, nil // The API server allows no new finalizer.
	}
	if _, unseen := f.writes.Ahead(id, target.GetResourceVersion()); unseen && f.shares(finalizer) {
		return false, nil // The finalizers that the field manager has applied are not known yet.
	}
	_, err := f.apply(ctx, target, finalizer, finalizer)
	if isOther(err) {
		return false, nil
	}
	return err == nil, err
}

// newest returns the object of the cache if its metadata.resourceVersion is newer than that of
// the object which the caller read before its turn. Another worker may have added or
// removed the finalizer since, and writes drops a write once the cache shows it.
func (f *Finalizers) newest(id object.ID, read metav1.Object) metav1.Object {
	shown := f.Get(id)
	if shown == nil || shown.GetUID() != read.GetUID() {
		return read
	}
	if object.Older(read.GetResourceVersion(), shown.GetResourceVersion()) {
		return shown
	}
	return read
}

// isOther reports whether a write failed because the object was deleted or replaced, or is
// being deleted (the API server then refuses new finalizers with the cause
// metadata.finalizers). Any other Invalid or Forbidden comes from a webhook or policy, and is
// an error.
func isOther(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeForbidden)
	leaving := found && cause.Field == "metadata.finalizers"
	return leaving || reconcile.IsSuperseded(err)
}

// holds reports whether metadata.finalizers contains a finalizer. If the cache does not show
// the last own write yet, holds answers from that write: thousands of Subnets may refer to one
// Network at the same moment, and one write is enough.
func (f *Finalizers) holds(id object.ID, target metav1.Object, finalizer string) bool {
	if written, unseen := f.writes.Ahead(id, target.GetResourceVersion()); unseen {
		return slices.Contains(written, finalizer)
	}
	return slices.Contains(target.GetFinalizers(), finalizer)
}

// Forget drops the record of the last write to a deleted object (writes).
func (f *Finalizers) Forget(id object.ID) { f.writes.Forget(id) }

// Reconcile takes off each finalizer in [Finalizers.Names] whose [Finalizers.InUse] returns false. Call Reconcile for
// every change of an object with one of these finalizers.
func (f *Finalizers) Reconcile(ctx context.Context, id object.ID) (ctrl.Result, error) {
	target := f.Get(id)
	if target == nil {
		return ctrl.Result{}, nil
	}
	for _, name := range f.Names {
		if err := f.release(ctx, id, name); err != nil {
			return reconcile.Fail(sharedv1alpha1.ReasonFailed, err).Result()
		}
	}
	return ctrl.Result{}, nil
}

// release removes one finalizer, unless [Finalizers.InUse]. turns keeps [Finalizers.Hold] from
// adding the finalizer meanwhile.
func (f *Finalizers) release(ctx context.Context, id object.ID, name string) error {
	defer f.turns.take(id)()
	target := f.Get(id)
	if target == nil || !slices.Contains(target.GetFinalizers(), name) {
		return nil
	}
	if _, unseen := f.writes.Ahead(id, target.GetResourceVersion()); unseen {
		return nil // The watch event of the own write requeues the object if a finalizer is left.
	}
	used, err := f.InUse(ctx, id, name)
	if used || err != nil {
		return err
	}
	live, err := f.apply(ctx, target, name)
	if err == nil && slices.Contains(live.GetFinalizers(), name) {
		err = f.cut(ctx, live, name) // Another field manager owns the finalizer as well.
	}
	if reconcile.IsSuperseded(err) {
		return nil
	}
	return err
}

// fieldOwner returns the field manager that applies a finalizer.
func (f *Finalizers) fieldOwner(name string) string {
	if owner, known := f.FieldOwners[name]; known {
		return owner
	}
	return name + "controller"
}

// shares reports whether FieldOwners lists the field manager of a finalizer for other
// finalizers too.
func (f *Finalizers) shares(name string) bool {
	return slices.ContainsFunc(f.Names, func(n string) bool {
		return n != name && f.fieldOwner(n) == f.fieldOwner(name)
	})
}

// apply sends metadata.finalizers by server-side apply, as the field manager of the finalizer
// name. The list includes other finalizers that the same field manager applied before: the API
// server removes a value that its field manager omits.
func (f *Finalizers) apply(
	ctx context.Context, target metav1.Object, name string, finalizers ...string,
) (*unstructured.Unstructured, error) {
	owner := f.fieldOwner(name)
	for _, n := range f.Names {
		if n != name && f.fieldOwner(n) == owner && slices.Contains(target.GetFinalizers(), n) {
			finalizers = append(finalizers, n)
		}
	}
	u := Partial(f.Kind, target)
	if len(finalizers) > 0 {
		u.SetFinalizers(finalizers)
	}
	err := f.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(owner), client.ForceOwnership)
	if err != nil {
		return nil, fmt.Errorf("write finalizer %s of %s/%s: %w", name, f.Kind.Kind, target.GetName(), err)
	}
	f.writes.Wrote(object.Of(target, f.Kind.GroupKind()), u.GetResourceVersion(), u.GetFinalizers())
	return u, nil
}

// cut removes a finalizer with a JSON merge patch, whichever field managers own the value.
func (f *Finalizers) cut(ctx context.Context, live *unstructured.Unstructured, name string) error {
	before := live.DeepCopy()
	live.SetFinalizers(slices.DeleteFunc(live.GetFinalizers(), func(n string) bool { return n == name }))
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := f.Client.Patch(ctx, live, patch); err != nil {
		return fmt.Errorf("remove finalizer %s of %s/%s: %w", name, f.Kind.Kind, live.GetName(), err)
	}
	f.writes.Wrote(object.Of(live, f.Kind.GroupKind()), live.GetResourceVersion(), live.GetFinalizers())
	return nil
}

// Partial returns a PartialObjectMetadata for a server-side apply. Partial sets metadata.uid,
// so that the apply neither changes another object of the same name nor creates an object.
func Partial(gvk schema.GroupVersionKind, obj metav1.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(obj.GetNamespace())
	u.SetName(obj.GetName())
	u.SetUID(obj.GetUID())
	return u
}

// LostFinalizer reports whether a change removed a value from metadata.finalizers, or deleted an object that
// had one: now is nil for a deleted object. A user may have removed a guard by hand.
func LostFinalizer(old, now client.Object) bool {
	return slices.ContainsFunc(old.GetFinalizers(), func(f string) bool {
		return now == nil || !slices.Contains(now.GetFinalizers(), f)
	})
}
