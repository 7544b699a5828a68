package iot

import (
	"bytes"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/kinship-dev/kinship/pkg/apply"
)

// adopt takes over what an older controller has written of the wanted Deployments. Server-
// side apply alone would add our containers to its own, and remove none of them ever.
func (r *reconciler) adopt(ctx context.Context, p *pass, want []apply.Object) error {
	for _, o := range want {
		seen, ok := r.view.Get(o.ID())
		if o.Wave != deploymentWave || !ok || seen.Controller != p.UID || seen.Mark != "" {
			continue // It is not there, not the connector's, or we have written it.
		}
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			return r.inherit(ctx, client.ObjectKeyFromObject(o), p.UID)
		})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("adopt %s: %w", o.ID().Short(), err)
		}
	}
	return nil
}

// inherit makes ours the fields of whoever has made a connector the controller of a
// Deployment. It changes nothing else: what of them is not wanted, the next apply removes.
func (r *reconciler) inherit(ctx context.Context, key types.NamespacedName, connector types.UID) error {
	d := &appsv1.Deployment{}
	if err := r.applier.Client.Get(ctx, key, d); err != nil {
		return err
	}
	reference := fieldpath.MakePathOrDie("metadata", "ownerReferences", fieldpath.KeyByFields("uid", string(connector)))
	former := sets.New[string]()
	for _, f := range csaupgrade.FindFieldsOwners(d.ManagedFields,
		metav1.ManagedFieldsOperationUpdate, fieldpath.NewSet(reference)) {
		former.Insert(f.Manager)
	}
	if former.Len() == 0 {
		return nil
	}
	before := d.DeepCopy()
	if err := csaupgrade.UpgradeManagedFields(d, former, fieldOwner); err != nil {
		return err
	}
	for i := range d.ManagedFields {
		if f := &d.ManagedFields[i]; apply.IsOwn(*f, fieldOwner) {
			if err := disown(f, fieldpath.MakePathOrDie("spec", "replicas")); err != nil {
				return err
			}
		}
	}
	return r.applier.Client.Patch(ctx, d, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(fieldOwner))
}

// disown takes a field out of managed fields. What nobody owns stays as it is: the next
// apply would set a number of Pods back to one that an older controller has chosen, and
// that is not managed.
func disown(f *metav1.ManagedFieldsEntry, path fieldpath.Path) error {
	var all fieldpath.Set
	if err := all.FromJSON(bytes.NewReader(f.FieldsV1.GetRawBytes())); err != nil {
		return fmt.Errorf("read managed fields: %w", err)
	}
	text, err := all.Difference(fieldpath.NewSet(path)).ToJSON()
	if err != nil {
		return fmt.Errorf("write managed fields: %w", err)
	}
	f.FieldsV1 = &metav1.FieldsV1{}
	f.FieldsV1.SetRawBytes(text)
	return nil
}
