package oam

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// Options are the options of the pack.
type Options struct {
	// TrustRBAC makes the pack act without a check of the authors' rights. Every user who may write
	// Components then has the rights of the pack in the namespace.
	TrustRBAC bool
	// ApplyOnce makes the pack apply a workload or a trait once for each generation of its
	// ApplicationConfiguration and revision of its Component. The pack keeps changes of other
	// clients in between.
	ApplyOnce bool
	// Kinds are the resources of workloads, traits and scopes beyond those of Kubernetes and of the
	// pack, such as dbs.example.com. The pack has rights to Kinds.
	Kinds []schema.GroupResource
}

// Pack returns the pack for the list options.Packs.
func Pack(options Options) pack.Pack {
	suffix := "." + group
	return pack.Pack{
		Name: "oam",
		Definitions: []string{
			applications + suffix, components + suffix, workloads + suffix, scalers + suffix, healthScopes + suffix,
			"workloaddefinitions" + suffix, "traitdefinitions" + suffix, "scopedefinitions" + suffix,
		},
		AddToScheme: oamv1alpha2.AddToScheme,
		Relations:   Relations,
		Finalizers: lineage.Named(finalizer, lineage.Finalizer{
			By: "the operator", When: "the workloads of the application are out of its scopes",
		}),
		Rules:   func() []rbacv1.PolicyRule { return rules(options) },
		Objects: objects,
		Doubt:   forgetAuthors,
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return setup(ctx, mgr, env, options)
		},
		Watches: true,
		Probe:   probe,
		Traces:  traces,
	}
}

// workloadResources are the resources of Kubernetes that Components and traits usually are.
var workloadResources = []rbacv1.PolicyRule{
	{APIGroups: []string{""}, Resources: []string{"configmaps", "services"}},
	{APIGroups: []string{"apps"}, Resources: []string{"daemonsets", "deployments", "statefulsets"}},
	{APIGroups: []string{"batch"}, Resources: []string{"cronjobs", "jobs"}},
	{APIGroups: []string{"autoscaling"}, Resources: []string{"horizontalpodautoscalers"}},
	{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"ingresses"}},
}

// rules returns the RBAC rules of the pack: for its own kinds, for workloadResources, and for
// Options.Kinds.
func rules(options Options) []rbacv1.PolicyRule {
	made := []string{"get", "list", "watch", "create", "patch", "delete"}
	own := []string{applications, components, workloads, scalers, healthScopes}
	statuses := make([]string, 0, len(own))
	for _, r := range own {
		statuses = append(statuses, r+"/status")
	}
	owners := []string{applications + "/finalizers", components + "/finalizers", workloads + "/finalizers"}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{group}, Resources: own, Verbs: []string{"list", "watch", "patch"}},
		{APIGroups: []string{group}, Resources: []string{healthScopes}, Verbs: []string{"get"}},
		{APIGroups: []string{group}, Resources: []string{workloads, scalers}, Verbs: []string{"get", "create", "delete"}},
		{APIGroups: []string{group}, Resources: statuses, Verbs: []string{"patch"}},
		// OwnerReferencesPermissionEnforcement requires this right for blockOwnerDeletion in owner
		// references.
		{APIGroups: []string{group}, Resources: owners, Verbs: []string{"update"}},
		{
			APIGroups: []string{group}, Resources: []string{"scopedefinitions", "traitdefinitions", "workloaddefinitions"},
			Verbs: []string{"list", "watch"},
		},
		{
			APIGroups: []string{revisionKind.Group}, Resources: []string{"controllerrevisions"},
			Verbs: []string{"get", "list", "watch", "create", "patch", "delete"},
		},
		{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			Verbs: []string{"list", "watch"},
		},
		{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: []string{"list", "watch"}},
	}
	acted := make([]rbacv1.PolicyRule, 0, len(workloadResources)+len(options.Kinds))
	for _, r := range workloadResources {
		r.Verbs = made
		acted = append(acted, r)
	}
	for _, k := range options.Kinds {
		acted = append(acted, rbacv1.PolicyRule{APIGroups: []string{k.Group}, Resources: []string{k.Resource}, Verbs: made})
	}
	return slices.Concat(rules, acted)
}

// traces returns the owner references by which the garbage collector would delete the objects of
// applications together with the CRD of ApplicationConfiguration, and the finalizers of
// ApplicationConfigurations.
func traces(ctx context.Context, r pack.Reading) (pack.Traces, error) {
	composers := []schema.GroupVersionResource{
		oamv1alpha2.GroupVersion.WithResource(applications), oamv1alpha2.GroupVersion.WithResource(workloads),
	}
	return r.Composed(ctx, composers, owned(), finalizer)
}

// owned returns the resources of Kubernetes that an ApplicationConfiguration or a
// ContainerizedWorkload may own.
func owned() []schema.GroupVersionResource {
	var all []schema.GroupVersionResource
	for _, r := range workloadResources {
		version := "v1"
		if r.APIGroups[0] == "autoscaling" {
			version = "v2"
		}
		for _, resource := range r.Resources {
			all = append(all, schema.GroupVersionResource{Group: r.APIGroups[0], Version: version, Resource: resource})
		}
	}
	return all
}
