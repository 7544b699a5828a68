package iot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/apply"
	"github.com/kinship-dev/kinship/pkg/object"
)

// remove leaves what was made for the connectors to nobody, and takes the finalizers off,
// which nobody would carry out any more. With the definition all connectors go, and the
// garbage collector would delete every Deployment that runs; that is not what somebody asks
// for who removes the operator. What is being deleted already goes.
func remove(ctx context.Context, r pack.Removal) error {
	var list iotv1alpha1.IotConnectorList
	if err := r.Live.List(ctx, &list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil
		}
		return fmt.Errorf("list IotConnectors: %w", err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	made, err := madeFor(ctx, r)
	if err != nil {
		return err
	}
	applier := apply.Applier{Client: r.Live, FieldOwner: fieldOwner}
	var failed []error
	left := 0
	for i := range list.Items {
		c := &list.Items[i]
		if c.DeletionTimestamp == nil || slices.Contains(c.Finalizers, metav1.FinalizerOrphanDependents) {
			all := known(entries(c), made[c.UID])
			left += len(all)
			if err := applier.Orphan(ctx, *metav1.NewControllerRef(c, connectorKind), all); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		before := c.DeepCopy()
		if !controllerutil.RemoveFinalizer(c, finalizer) {
			continue
		}
		if err := r.Live.Patch(ctx, c, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			failed = append(failed, fmt.Errorf("take the finalizer off IotConnector %s/%s: %w", c.Namespace, c.Name, err))
		}
	}
	r.Say("took the finalizer off %d IotConnectors; %d objects that were made for them stay as they are, and are "+
		"nobody's now", len(list.Items), left)
	return errors.Join(failed...)
}

// madeFor returns the Deployments that there are, by who controls them.
func madeFor(ctx context.Context, r pack.Removal) (map[types.UID][]apply.Entry, error) {
	deployments := r.Metadata.Resource(deploymentKind.GroupVersion().WithResource("deployments"))
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Deployments: %w", err)
	}
	found := map[types.UID][]apply.Entry{}
	for i := range list.Items {
		d := &list.Items[i]
		if owner := metav1.GetControllerOf(d); owner != nil {
			found[owner.UID] = append(found[owner.UID], apply.Entry{
				ID: object.Of(d, deploymentKind.GroupKind()), Version: deploymentKind.Version, UID: d.UID,
			})
		}
	}
	return found, nil
}

// known adds to an inventory what is not in it.
func known(all, found []apply.Entry) []apply.Entry {
	for _, e := range found {
		if !slices.ContainsFunc(all, func(other apply.Entry) bool { return other.ID == e.ID }) {
			all = append(all, e)
		}
	}
	return all
}
