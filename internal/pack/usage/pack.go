package usage

import (
	"cmp"
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/lineage"
)

// Names in the cluster.
const (
	// webhookConfiguration and webhookName are names of the published API.
	webhookConfiguration = "crossplane-no-usages"
	webhookName          = "nousages.protection.crossplane.io"
	evictionsName        = "evictions.usage.kinship.dev"
	validateName         = "validate.usage.kinship.dev"
	defaultName          = "default.usage.kinship.dev"

	ownConfiguration = "kinship-usage"
	keepPolicy       = "kinship-usage-keep-lock"
	refusePolicy     = "kinship-usage-refuse-deletion"
	recordsPolicy    = "kinship-usage-keep-records"
	ownersPolicy     = "kinship-usage-former-owners"
	locksPolicy      = "kinship-usage-former-locks"

	refusePath   = "/validate-no-usages"
	validatePath = "/validate-usage"
	defaultPath  = "/mutate-usage"
)

// schemeBuilder adds the Go types of the three kinds to a scheme.
var schemeBuilder = runtime.NewSchemeBuilder(protectionv1beta1.AddToScheme, usagev1alpha1.AddToScheme)

// Pack returns the pack for the operator's list.
func Pack(options Options) pack.Pack {
	return pack.Pack{
		Name: "usage", Protects: true,
		Definitions: []string{
			"usages.apiextensions.crossplane.io", "usages.protection.crossplane.io", "clusterusages.protection.crossplane.io",
		},
		AddToScheme: schemeBuilder.AddToScheme,
		Relations:   Relations,
		Finalizers: lineage.Named(finalizer, lineage.Finalizer{
			By: "the operator", When: "what uses the protected object is gone", Waits: lineage.WaitsForSources,
		}),
		Locks:     locks(),
		Rules:     func() []rbacv1.PolicyRule { return rules(options) },
		EditRoles: func(kinds []string) []*rbacv1.ClusterRole { return editRoles(options, kinds) },
		Objects:   objects,
		// Without keepPolicy, the lock controller adds a removed label again.
		Enforced: []string{webhookConfiguration, refusePolicy, keepPolicy},
		Doubt:    removeUnverified,
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return setup(ctx, mgr, env, options)
		},
		Watches: true,
		Trim:    shareStrings,
		Probe:   probe,
		Traces:  traces,
	}
}

// Options of the pack.
type Options struct {
	// GracePeriod is how long a deleted Usage without label crossplane.io/composite waits for the
	// deletion of its using object to begin. Zero means five seconds.
	GracePeriod time.Duration
	// ReplayExpiry is how long a refused deletion is recorded. Zero means a day.
	ReplayExpiry time.Duration
	// MaxPerNamespace is how many Usages a namespace may have. Zero means any number.
	MaxPerNamespace int
	// Kinds are the resources that Usages may protect. Using are further resources that may use
	// them. The pack has rights to Kinds and Using only. No Kinds means all kinds.
	Kinds, Using []schema.GroupResource
	// Namespaces are the namespaces that the operator works in. Empty means all.
	Namespaces []string
	// LiftedBy names the ClusterRole of Kubernetes whose users may change and delete Usages of their
	// namespaces, and so lift protection. Empty means [LiftedByEdit].
	LiftedBy LiftedBy
}

// LiftedBy is a ClusterRole of Kubernetes for users in a namespace, or none.
type LiftedBy string

// The values of Options.LiftedBy. With LiftedByNone, only users with other rights, such as a binding
// of the ClusterRole kinship-usage-lift, may change and delete Usages.
const (
	LiftedByEdit  LiftedBy = "edit"
	LiftedByAdmin LiftedBy = "admin"
	LiftedByNone  LiftedBy = "none"
)

// LiftedByAll are the values of Options.LiftedBy.
var LiftedByAll = []LiftedBy{LiftedByEdit, LiftedByAdmin, LiftedByNone}

func (o Options) withDefaults() Options {
	o.GracePeriod = cmp.Or(o.GracePeriod, 5*time.Second)
	o.ReplayExpiry = cmp.Or(o.ReplayExpiry, 24*time.Hour)
	return o
}
