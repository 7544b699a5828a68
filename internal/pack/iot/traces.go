package iot

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
)

// stay is the note of pack.Trace about composed objects.
const stay = "they stay as they are, without an owner"

// traces returns the owner references of composed objects and the finalizers of IotConnectors.
// The uninstallation deletes the CRD and so every IotConnector. The garbage collector would then
// delete every Deployment that still has its owner reference, although only the operator was to
// be removed. An IotConnector that is being deleted already loses its Deployments, so the owner
// references of these Deployments are kept.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	var all pack.Traces
	resource := iotv1alpha1.GroupVersion.WithResource(connectors)
	list, err := r.List(ctx, resource, metav1.ListOptions{})
	if err != nil || len(list) == 0 {
		return all, err
	}
	kept := map[types.UID]bool{}
	for i := range list {
		c := &list[i]
		kept[c.UID] = c.DeletionTimestamp == nil || slices.Contains(c.Finalizers, metav1.FinalizerOrphanDependents)
	}
	if all.Found, err = composedBy(ctx, r, kept); err != nil {
		return all, err
	}
	for i := range list {
		if slices.Contains(list[i].Finalizers, finalizer) {
			all.Found = append(all.Found, pack.Trace{Resource: resource, Object: &list[i], Finalizers: []string{finalizer}})
		}
	}
	return all, nil
}

// composedBy returns the objects that IotConnectors own, of the kinds of every Identity.
func composedBy(ctx context.Context, r pack.Reading, kept map[types.UID]bool) ([]pack.Trace, error) {
	var found []pack.Trace
	for _, resource := range []schema.GroupVersionResource{
		deploymentKind.GroupVersion().WithResource("deployments"),
		accountKind.GroupVersion().WithResource("serviceaccounts"),
		azureIdentityKind.GroupVersion().WithResource("azureidentities"),
		azureBindingKind.GroupVersion().WithResource("azureidentitybindings"),
	} {
		list, err := r.List(ctx, resource, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list {
			for _, owner := range list[i].OwnerReferences {
				if kept[owner.UID] {
					found = append(found, pack.Trace{Resource: resource, Object: &list[i], Owner: owner.UID, Note: stay})
				}
			}
		}
	}
	return found, nil
}
