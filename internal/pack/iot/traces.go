package iot

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
)

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
	all.Found, err = pack.OwnedBy(ctx, r, kept, // Of the kinds of every Identity.
		deploymentKind.GroupVersion().WithResource("deployments"),
		accountKind.GroupVersion().WithResource("serviceaccounts"),
		azureIdentityKind.GroupVersion().WithResource("azureidentities"),
		azureBindingKind.GroupVersion().WithResource("azureidentitybindings"),
	)
	if err != nil {
		return all, err
	}
	for i := range list {
		if slices.Contains(list[i].Finalizers, finalizer) {
			all.Found = append(all.Found, pack.Trace{Resource: resource, Object: &list[i], Finalizers: []string{finalizer}})
		}
	}
	return all, nil
}
