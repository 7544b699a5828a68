// Package pack says what a pack is: the kinds of one published design, with everything that the
// operator needs to install and run the kinds. Packs are subpackages, and never import each
// other. Code that two packs need is in the engine (pkg).
package pack

import (
	"context"
	"net/http"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// Pack is an entry in the operator's list of packs.
type Pack struct {
	// Name of the pack in --packs, such as "usage".
	Name string
	// Definitions are the names of its CustomResourceDefinitions.
	Definitions []string
	// Groups returns API groups of which the pack has kinds that are not in Definitions, because a command enables
	// these kinds. Groups may be nil.
	Groups func() []string
	// AddToScheme makes its types known.
	AddToScheme func(*runtime.Scheme) error
	// Relations are the rules that its kinds declare.
	Relations func() []relation.Relation
	// Discover returns the relations of a kind that is installed at run time, if the kind is the pack's. An
	// object of such a kind is an external.Unstructured. Discover may be nil.
	Discover func(schema.GroupVersionKind) []relation.Relation
	// Finalizers that the pack's controllers add and remove.
	Finalizers []lineage.Finalizer
	// Locks are the labels that the pack's controllers put on objects whose deletion is
	// refused, such as crossplane.io/in-use.
	Locks []lineage.Lock
	// Rules are the rights that its controllers need, and nothing more.
	Rules func() []rbacv1.PolicyRule
	// EditRoles returns the ClusterRoles of users who write kinds of the pack. Without EditRoles, users
	// with Kubernetes' roles edit and admin have all EditVerbs. EditRoles may be nil.
	EditRoles func(kinds []string) []*rbacv1.ClusterRole
	// Objects are the pack's objects in the cluster besides definitions and rights, such as
	// webhook configurations and policies.
	Objects func(Installation) []client.Object
	// Enforced are the names of those Objects that the pack itself watches, and reports as
	// missing to users. While any other guard among Objects is missing, such as a webhook
	// configuration or a policy, the pack's controllers are held up.
	Enforced []string
	// Doubt drops marks that a guard should have judged, on objects that were written since a
	// resource version while a guard was missing. Doubt may be nil.
	Doubt func(ctx context.Context, live client.Client, since string) error
	// Protects says that objects of the pack protect others. Such an object is always kept in memory: an unread Usage
	// would protect nothing. Objects of other packs are left out when their namespace takes too much.
	Protects bool
	// Setup adds its controllers and handlers to the manager.
	Setup func(context.Context, manager.Manager, Environment) error
	// Watches says that the pack follows objects of kinds that users name, for which its
	// Environment has a Watcher.
	Watches bool
	// Trim shrinks an object of the pack on its way into the cache. Trim may be nil.
	Trim func(obj any)
	// Probe tries, without effect, whether the API server calls the pack's webhooks,
	// with objects in a namespace that exists.
	Probe func(ctx context.Context, c client.Client, namespace string) error
	// Traces finds the pack's marks on objects, which Uninstall removes in the order in which
	// Traces returns the marks.
	Traces func(context.Context, Reading) (Traces, error)
	// Enabled finds what was installed after the installation of the pack, such as the definitions of kinds
	// that a command enabled. Uninstall removes these objects. Enabled may be nil.
	Enabled func(context.Context, client.Client) ([]*unstructured.Unstructured, error)
	// Additions returns what each kind needs that a command enabled, for an account that may act in some
	// namespaces; no namespaces means all. `kinship doctor` compares the cluster with the Additions. Additions
	// may be nil.
	Additions func(ctx context.Context, c client.Client, account rbacv1.Subject, namespaces []string) ([]Addition, error)
}

// Addition is what one kind needs that a command enabled in an installation, such as `kinship azure enable`.
type Addition struct {
	// Name of the CustomResourceDefinition of the kind.
	Name string
	// Definition is the CustomResourceDefinition as the command installs it. Definition is nil for a
	// definition that another tool installed, and for one that Unknown is about.
	Definition *apiextensionsv1.CustomResourceDefinition
	// Unknown says why Definition can't be made, such as a version that this program does not know.
	Unknown error
	// Rights are a ClusterRole with the rights of the account to the kind, and its bindings. The ClusterRole
	// in the cluster may have more rules.
	Rights []client.Object
	// UserRoles have the rights of users to the kind. The ClusterRoles in the cluster may have more rules.
	UserRoles []*rbacv1.ClusterRole
	// Repair is the command that installs all this again.
	Repair string
}

// Enforcement says whether a webhook or a policy refuses the deletion of protected objects.
type Enforcement string

const (
	// ByWebhook asks the operator, whose answer names the Usages that hold the object.
	ByWebhook Enforcement = "webhook"
	// ByPolicy lets the API server refuse by itself, with a fixed text: nothing
	// depends on the operator, and nothing is recorded for replay.
	ByPolicy Enforcement = "policy"
)

// Installation has the settings that a pack's objects depend on.
type Installation struct {
	// Operators are the user names that the pack's webhooks and policies exempt: the account of the pack.
	Operators Operators
	// Namespace and Service are where the API server finds the operator's webhooks
	// in the cluster.
	Namespace, Service string
	// URL of the webhook server outside of the cluster. If set, URL replaces the Service.
	URL         string
	Enforcement Enforcement
	// Namespaces that the operator works in. Empty means all namespaces.
	Namespaces []string
	// MutatingPolicies says that the API server serves MutatingAdmissionPolicy.
	MutatingPolicies bool
}

// Environment is the environment that a pack runs in. Its clients act as the pack's own
// account.
type Environment struct {
	// Watcher is nil unless the pack Watches.
	Watcher *relation.Watcher
	// Reviewer asks in the name of the whole operator.
	Reviewer *authorise.Reviewer
	Metadata metadata.Interface
	// Live reads and writes without a cache.
	Live client.Client
	// Health knows which kinds the pack's cache can't watch, and which objects the cache can't
	// read.
	Health *watch.Health
	// Operators has the user name of the pack's own account.
	Operators Operators
	// Accounts are the user names of all accounts of the operator. A handler MUST NOT let these users write what is
	// another pack's.
	Accounts Operators
	// Refused says why the pack must not act on a resource for the author of another object, or "".
	Refused     func(schema.GroupResource) string
	Enforcement Enforcement
	// Installation has the settings that the pack's objects depend on.
	Installation Installation
	// NewCache makes a cache besides that of the manager, of the namespaces that the operator
	// works in.
	NewCache func(cache.Options) (cache.Cache, error)
	// Origin carries out what a review does beyond its answer. Origin is nil without webhooks.
	Origin Origin
	// Trace returns an http.RoundTripper that makes a span of each request within a pass, for
	// requests to clouds. Without traces, Trace returns its argument.
	Trace func(http.RoundTripper) http.RoundTripper
	// Install applies one of the pack's objects as the installation does. Install is nil
	// without --install.
	Install func(context.Context, client.Object) error
}
