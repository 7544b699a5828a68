// Package pack says what a pack is: a set of kinds of one published design, with
// everything that the operator needs to install and run them. Packs live in the
// packages below this one and never import each other; what two of them need is
// in the engine (pkg).
package pack

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Pack is one entry of the operator's list.
type Pack struct {
	// Name is what --packs calls it.
	Name string
	// Definitions are the names of its CustomResourceDefinitions.
	Definitions []string
	// AddToScheme makes its types known.
	AddToScheme func(*runtime.Scheme) error
	// Relations are the rules that its kinds declare.
	Relations func() []relation.Relation
	// Finalizers are those that its controllers put on objects and take off.
	Finalizers []lineage.Finalizer
	// Locks are the labels that its controllers put on objects whose deletion is refused.
	Locks []lineage.Lock
	// Rules are the rights that its controllers need, and nothing more.
	Rules func() []rbacv1.PolicyRule
	// Objects are what it needs in the cluster besides definitions and rights, such
	// as webhook configurations and policies.
	Objects func(Installation) []client.Object
	// Enforced are the names of those Objects that the pack looks after itself and tells of
	// while they are missing. While any other guard among Objects is missing, such as a
	// webhook configuration or a policy, the pack's controllers are held up.
	Enforced []string
	// Doubt takes back what guards have judged of objects that were written since a resource
	// version, when a guard was missing since then. It may be nil.
	Doubt func(ctx context.Context, live client.Client, since string) error
	// Setup adds its controllers and handlers to the manager.
	Setup func(context.Context, manager.Manager, Environment) error
	// Watches says that the pack follows objects of kinds that users name, for which its
	// Environment has a Watcher.
	Watches bool
	// Trim makes an object smaller on its way into the cache, if it is one of the
	// pack's. It may be nil.
	Trim func(obj any)
	// Probe tries, without effect, whether the API server calls the pack's webhooks,
	// with objects in a namespace that exists.
	Probe func(ctx context.Context, c client.Client, namespace string) error
	// Traces finds what the pack has left on objects, to be taken off when the pack is
	// uninstalled. What has an order is found in that order.
	Traces func(context.Context, Reading) (Traces, error)
}

// Enforcement is what refuses the deletion of protected objects.
type Enforcement string

const (
	// ByWebhook asks the operator, which answers with who is in the way.
	ByWebhook Enforcement = "webhook"
	// ByPolicy lets the API server refuse by itself, with a fixed text: nothing
	// depends on the operator, and nothing is recorded for replay.
	ByPolicy Enforcement = "policy"
)

// Installation is what the objects of a pack depend on.
type Installation struct {
	// Operators are the user names that the operator acts as.
	Operators Operators
	// Namespace and Service are where the API server finds the operator's webhooks
	// in the cluster.
	Namespace, Service string
	// URL is where it finds them outside; it is used instead when set.
	URL         string
	Enforcement Enforcement
	// Namespaces are those that the operator works in. None means all.
	Namespaces []string
	// MutatingPolicies says that the API server serves MutatingAdmissionPolicy.
	MutatingPolicies bool
}

// Environment is what a pack is given to run. What reads or writes objects does so as the
// pack's own account.
type Environment struct {
	// Watcher is nil unless the pack Watches.
	Watcher *relation.Watcher
	// Reviewer asks in the name of the whole operator.
	Reviewer *authorise.Reviewer
	Metadata metadata.Interface
	// Live reads and writes without a cache.
	Live client.Client
	// Health knows which kinds the pack's cache can't watch and which objects it can't
	// read.
	Health *watch.Health
	// Operators are our own user names.
	Operators   Operators
	Enforcement Enforcement
	// Installation is what the objects of the pack depend on.
	Installation Installation
	// NewCache makes a cache besides that of the manager, of the namespaces that the operator
	// works in.
	NewCache func(cache.Options) (cache.Cache, error)
	// Install applies one of them as the installation does. It is nil where somebody
	// else installs.
	Install func(context.Context, client.Object) error
}
