package iot

import (
	"cmp"
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/lists"
)

// Names in the cluster.
const (
	// fieldOwner is the field manager of every write of the pack, and the source of its events.
	// Another name would leave fields behind in metadata.managedFields.
	fieldOwner = "kinship-iot"
	// finalizer keeps an IotConnector until every composed object is deleted.
	finalizer = "services.azurehealthcareapis.com/composed"

	configuration = "kinship-iot"
	validateName  = "validate.iot.kinship.dev"
	defaultPath   = "/mutate-iotconnector"
	validatePath  = "/validate-iotconnector"

	connectors = "iotconnectors"
	releases   = "iotconnectorreleases"
)

// Identity is the kind of identity that the Pods of an IotConnector share.
type Identity string

const (
	// WorkloadIdentity is a ServiceAccount with the annotations of workload identity.
	WorkloadIdentity Identity = "workload-identity"
	// PodIdentity is an AzureIdentity with an AzureIdentityBinding. Both CRDs must be installed.
	PodIdentity Identity = "pod-identity"
)

// resources returns the resources that an identity consists of.
func (i Identity) resources() []schema.GroupResource {
	if i == PodIdentity {
		return []schema.GroupResource{
			{Group: podIdentityGroup, Resource: "azureidentities"},
			{Group: podIdentityGroup, Resource: "azureidentitybindings"},
		}
	}
	return []schema.GroupResource{{Resource: "serviceaccounts"}}
}

// Options of the pack.
type Options struct {
	// Identity of the Pods. Empty means WorkloadIdentity.
	Identity Identity
}

var (
	connectorKind  = iotv1alpha1.GroupVersion.WithKind(iotv1alpha1.KindIotConnector)
	releaseKind    = iotv1alpha1.GroupVersion.WithKind(iotv1alpha1.KindIotConnectorRelease)
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	accountKind    = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}
)

// Pack returns the pack for the operator's list.
func Pack(options Options) pack.Pack {
	options.Identity = cmp.Or(options.Identity, WorkloadIdentity)
	group := "." + iotv1alpha1.GroupVersion.Group
	return pack.Pack{
		Name:        "iot",
		Definitions: []string{connectors + group, releases + group},
		AddToScheme: iotv1alpha1.AddToScheme,
		Relations:   Relations,
		Finalizers: []lineage.Finalizer{{
			Name: finalizer, By: "the operator", When: "every composed object is deleted",
			Waits: lineage.WaitsForOwned, Deletes: true,
		}},
		Rules:   func() []rbacv1.PolicyRule { return rules(options) },
		Objects: func(in pack.Installation) []client.Object { return objects(in, options) },
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return setup(ctx, mgr, env, options)
		},
		Probe:  probe,
		Traces: traces,
	}
}

// rules returns the RBAC rules of the pack: for its own kinds and for the composed kinds. The
// pack never reads a Secret or a Pod.
func rules(options Options) []rbacv1.PolicyRule {
	group := []string{iotv1alpha1.GroupVersion.Group}
	// Server-side apply needs "patch", and "create" for a new object. Live reads need "get".
	made := []string{"get", "list", "watch", "create", "patch", "delete"}
	all := []rbacv1.PolicyRule{
		{APIGroups: group, Resources: []string{connectors, releases}, Verbs: []string{"list", "watch"}},
		{APIGroups: group, Resources: []string{connectors}, Verbs: []string{"patch"}},
		{APIGroups: group, Resources: []string{connectors + "/status", releases + "/status"}, Verbs: []string{"patch"}},
		// For blockOwnerDeletion in the owner references of composed objects.
		{APIGroups: group, Resources: []string{connectors + "/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{deploymentKind.Group}, Resources: []string{"deployments"}, Verbs: made},
	}
	return slices.Concat(all, lists.Map(options.Identity.resources(), func(r schema.GroupResource) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{r.Group}, Resources: []string{r.Resource}, Verbs: made}
	}))
}
