package apply

import (
	"bytes"
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// TakeOver makes Applier.FieldOwner the manager of the fields that an older controller wrote
// with Update. Without TakeOver, server-side apply of a Deployment with other containers would
// add the new containers and keep the old ones.
//
// The older controller is the manager that wrote the ownerReference to the uid controller.
// TakeOver changes metadata.managedFields only; the next Apply removes fields that are not
// wanted. Nobody manages the fields in except afterwards, and they keep their values.
func (a *Applier) TakeOver(ctx context.Context, obj Object, controller types.UID, except ...fieldpath.Path) error {
	entry := Entry{ID: obj.ID(), Version: obj.GroupVersionKind().Version}
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return a.takeOver(ctx, entry, controller, fieldpath.NewSet(except...))
	})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("take over fields of %s: %w", entry.Short(), err)
	}
	return nil
}

func (a *Applier) takeOver(ctx context.Context, entry Entry, controller types.UID, except *fieldpath.Set) error {
	obj := entry.blank()
	if err := a.Client.Get(ctx, entry.NamespacedName(), obj); err != nil {
		return err
	}
	reference := fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(controller)))
	former := sets.New[string]()
	for _, f := range csaupgrade.FindFieldsOwners(obj.GetManagedFields(),
		metav1.ManagedFieldsOperationUpdate, fieldpath.NewSet(reference)) {
		former.Insert(f.Manager)
	}
	if former.Len() == 0 {
		return nil
	}
	before := obj.DeepCopy()
	if err := csaupgrade.UpgradeManagedFields(obj, former, a.FieldOwner); err != nil {
		return err
	}
	managed := obj.GetManagedFields()
	for i := range managed {
		if !IsOwn(managed[i], a.FieldOwner) {
			continue
		}
		if err := removeFields(&managed[i], except); err != nil {
			return err
		}
	}
	obj.SetManagedFields(managed)
	return a.Client.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(a.FieldOwner))
}

// removeFields removes fields from an entry of metadata.managedFields.
func removeFields(f *metav1.ManagedFieldsEntry, except *fieldpath.Set) error {
	var all fieldpath.Set
	if err := all.FromJSON(bytes.NewReader(f.FieldsV1.GetRawBytes())); err != nil {
		return fmt.Errorf("read managed fields: %w", err)
	}
	text, err := all.Difference(except).ToJSON()
	if err != nil {
		return fmt.Errorf("write managed fields: %w", err)
	}
	f.FieldsV1 = &metav1.FieldsV1{}
	f.FieldsV1.SetRawBytes(text)
	return nil
}
