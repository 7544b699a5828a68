package iot

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// traces returns the owner references of composed objects and the finalizers of IotConnectors.
// The uninstallation deletes the CRD and so every IotConnector. The garbage collector would then
// delete every Deployment that still has its owner reference, although only the operator was to
// be removed. An IotConnector that is being deleted already loses its Deployments, so the owner
// references of these Deployments are kept.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	owned := []schema.GroupVersionResource{ // Of the kinds of every Identity.
		deploymentKind.GroupVersion().WithResource("deployments"),
		accountKind.GroupVersion().WithResource("serviceaccounts"),
		azureIdentityKind.GroupVersion().WithResource("azureidentities"),
		azureBindingKind.GroupVersion().WithResource("azureidentitybindings"),
	}
	composers := []schema.GroupVersionResource{iotv1alpha1.GroupVersion.WithResource(connectors)}
	return r.Composed(ctx, composers, owned, object.Finalizer{Name: finalizer})
}
