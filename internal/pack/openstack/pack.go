package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/lists"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Options are the options of the pack.
type Options struct {
	// Workers is the number of concurrent passes over objects of one kind in one namespace, for
	// each cloud. Zero means 8.
	Workers int
	// Resync is the interval in which resources are compared with their specs. Zero means ten
	// minutes, negative never.
	Resync time.Duration
	// QPS is the number of calls per second to one cloud. Zero means 50.
	QPS float64
	// Calls is the number of concurrent calls of one namespace to one service of a cloud. Zero
	// means 8. All namespaces together may have a quarter more.
	Calls int64
	// Hosts are patterns (path.Match) of the hosts that the operator may call, in Secrets and
	// in the service catalogs of clouds. Empty means all.
	Hosts []string
	// Open are address ranges that the operator may call although they are closed by default:
	// loopback, link-local, multicast, and the Services of the cluster. Closed are further
	// ranges that the operator must not call, such as the range of the Pods.
	Open, Closed []netip.Prefix
	// Conditions chooses the conditions of objects. Empty means PublishedConditions.
	Conditions Conditions
	// Authorities are PEM certificates of CAs for Secrets without a cacert.
	Authorities []byte
}

// Conditions is a choice of conditions for all objects.
type Conditions string

const (
	// PublishedConditions are the conditions of the published API: Available and Progressing,
	// and Downloading for an Image. Tests of users of that API compare the whole list.
	PublishedConditions Conditions = "published"
	// AllConditions adds Ready, and Drifted while a resource differs from its spec in a field
	// that can't be changed.
	AllConditions Conditions = "all"
)

// Pack returns the pack for the list in internal/options.
func Pack(options Options) pack.Pack {
	return pack.Pack{
		Name:        "openstack",
		Definitions: resources("." + kit.Group),
		AddToScheme: openstackv1alpha1.AddToScheme,
		Relations:   Relations,
		Finalizers:  finalizers(),
		Rules:       rules,
		Objects:     objects,
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return setup(ctx, mgr, env, options)
		},
		Traces: traces,
	}
}

// objects returns the ValidatingAdmissionPolicies for the pack's objects.
func objects(in pack.Installation) []client.Object {
	return slices.Concat(askForSecrets(Relations()), askForComposed(),
		pack.GuardStatuses(statusPolicy, []string{kit.Group}, resources(""), in),
		pack.GuardIntents(intentPolicy, []string{kit.Group}, external.IntentAnnotation(kit.Group), in))
}

// plural returns the resource of a kind: networks for Network.
func plural(kind string) string {
	resource, _ := meta.UnsafeGuessKindToResource(kit.GVK(kind))
	return resource.Resource
}

// resources returns the resources of all kinds, each with a suffix such as "/status".
func resources(suffix string) []string {
	return lists.Map(kinds, func(k entry) string { return plural(k.name) + suffix })
}

// finalizers returns the finalizers of all kinds: on an object of the own kind the reconciler's
// finalizer, on other objects a guard.
func finalizers() []lineage.Finalizer {
	return lists.Map(kinds, func(k entry) lineage.Finalizer {
		return lineage.Finalizer{
			Name: kit.Finalizer(k.name), By: "the operator",
			When: "its resource is gone",
		}
	})
}

// Relations returns the relations that the pack's kinds declare.
func Relations() []relation.Relation {
	return slices.Concat(lists.Map(kinds, func(k entry) []relation.Relation { return k.relations })...)
}

// rules returns the RBAC rules of the pack: for its own kinds, and for Secrets. The operator
// reads (get) only Secrets that objects name. The operator lists and watches the metadata of
// all Secrets, because a watch of single Secrets would need a request for each.
func rules() []rbacv1.PolicyRule {
	group := []string{kit.Group}
	return []rbacv1.PolicyRule{
		{APIGroups: group, Resources: resources(""), Verbs: []string{"list", "watch", "patch"}},
		{APIGroups: group, Resources: resources("/status"), Verbs: []string{"patch"}},
		// A Subnet with routerRef creates a RouterInterface.
		{APIGroups: group, Resources: []string{"routerinterfaces"}, Verbs: []string{"get", "create", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		// The address ranges of Services and Pods: no cloud may have such an address.
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"servicecidrs"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}},
	}
}

// setup adds the pack's controllers to a manager.
func setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	requests := calls()
	log := mgr.GetLogger().WithName("openstack")
	pods, err := watchPodRanges(ctx, mgr, env.Live, log)
	if err != nil {
		return err
	}
	clouds := openstack.New(openstack.Options{
		QPS: options.QPS, Calls: options.Calls, Authorities: options.Authorities, Hosts: options.Hosts,
		Open: options.Open, Closed: append(serviceRanges(ctx, env.Live, log), options.Closed...),
		Pods: pods.ranges, UserAgent: "kinship", Observe: observed(requests), Trace: env.Trace,
	})
	engine := external.New(mgr, external.Options{
		Group: kit.Group, Noun: "OpenStack resource", Cloud: "OpenStack",
		Workers: options.Workers, Resync: options.Resync, Summary: options.Conditions == AllConditions,
		Live: env.Live, Events: mgr.GetEventRecorder("kinship-openstack"), Health: env.Health,
		Account: clouds.Account, Tenant: openstack.WithTenant,
	})
	connector := &kit.Connector{Live: env.Live, Clouds: clouds}
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		clouds.Close()
		return nil
	}))
	if err != nil {
		return fmt.Errorf("add what closes connections: %w", err)
	}
	engine.Watch(kit.SecretKind, func(id object.ID) { connector.Forget(id.NamespacedName()) })
	for _, k := range kinds {
		k.add(engine, connector)
	}
	if err := engine.Start(ctx); err != nil {
		return err
	}
	return pack.RegisterMetrics(requests, engine.Metrics(), engine.Graph("openstack"))
}
