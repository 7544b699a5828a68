package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// Options of the pack.
type Options struct {
	// Workers is how many objects of a kind, of one namespace at one cloud, are worked on at
	// once. Zero means 8.
	Workers int
	// Resync is how often resources are compared with their specs. Zero means ten
	// minutes, negative never.
	Resync time.Duration
	// QPS is how many calls per second one cloud gets. Zero means 50.
	QPS float64
	// Calls is how many calls of one namespace to one service of a cloud are under way at once.
	// Zero means 8. All namespaces together have a quarter more.
	Calls int64
	// Hosts are patterns, as in path.Match, of the hosts that Secrets and clouds may
	// have the operator call. None means all.
	Hosts []string
	// Open are ranges of addresses that may be called although they are closed by default:
	// loopback, link-local and multicast ones, and the cluster's Services. Closed are ranges
	// that may not be called either, such as that of the cluster's Pods.
	Open, Closed []netip.Prefix
	// Conditions chooses the conditions of objects. Empty means PublishedConditions.
	Conditions Conditions
	// Authorities are PEM certificates to trust where a Secret brings none.
	Authorities []byte
}

// Conditions chooses which conditions objects have.
type Conditions string

const (
	// PublishedConditions are those of the published API: Available and Progressing, and
	// Downloading of an Image. Tests of that API's users compare the whole list.
	PublishedConditions Conditions = "published"
	// AllConditions are these and Ready, and Drifted while a resource differs from its
	// spec in a field that can't be changed.
	AllConditions Conditions = "all"
)

// Pack returns the pack for the operator's list.
func Pack(options Options) pack.Pack {
	return pack.Pack{
		Name:        "openstack",
		Definitions: definitions(),
		AddToScheme: openstackv1alpha1.AddToScheme,
		Relations:   Relations,
		Finalizers:  finalizers(),
		Rules:       rules,
		Objects:     objects,
		Setup: func(ctx context.Context, mgr manager.Manager, env pack.Environment) error {
			return Setup(ctx, mgr, env, options)
		},
		Traces: traces,
	}
}

// objects are the policies by which the API server guards the pack's objects.
func objects(in pack.Installation) []client.Object {
	resources := make([]string, 0, len(kinds))
	for _, k := range kinds {
		resources = append(resources, plural(k.name))
	}
	return slices.Concat(askForSecrets(Relations()), askForComposed(),
		pack.GuardStatuses(statusPolicy, kit.Group, resources, in))
}

// plural returns what the API server calls a kind's objects.
func plural(kind string) string {
	if stem, ok := strings.CutSuffix(kind, "y"); ok {
		return strings.ToLower(stem) + "ies"
	}
	return strings.ToLower(kind) + "s"
}

func definitions() []string {
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, plural(k.name)+"."+kit.Group)
	}
	return names
}

// finalizers are those of the kinds: on an object of its own each is the controller's,
// on others a guard.
func finalizers() []lineage.Finalizer {
	all := make([]lineage.Finalizer, 0, len(kinds))
	for _, k := range kinds {
		all = append(all, lineage.Finalizer{
			Name: kit.Group + "/" + strings.ToLower(k.name), By: "the operator",
			When: "its resource is gone",
		})
	}
	return all
}

// Relations are the rules that the pack's kinds declare.
func Relations() []relation.Relation {
	var all []relation.Relation
	for _, k := range kinds {
		all = append(all, k.relations...)
	}
	return all
}

// rules are the rights of the pack: its own kinds, and the Secrets that they name.
// Get is for those alone; list and watch are for the metadata of all, without
// which a change would have to be asked for.
func rules() []rbacv1.PolicyRule {
	group, all, status := []string{kit.Group}, make([]string, 0, len(kinds)), make([]string, 0, len(kinds))
	for _, k := range kinds {
		all = append(all, plural(k.name))
		status = append(status, plural(k.name)+"/status")
	}
	return []rbacv1.PolicyRule{
		{APIGroups: group, Resources: all, Verbs: []string{"list", "watch", "patch"}},
		{APIGroups: group, Resources: status, Verbs: []string{"patch"}},
		// A Subnet makes the RouterInterface to its Router.
		{APIGroups: group, Resources: []string{"routerinterfaces"}, Verbs: []string{"get", "create", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		// The addresses of Services and Pods, which no cloud has.
		{APIGroups: []string{"networking.k8s.io"}, Resources: []string{"servicecidrs"}, Verbs: []string{"list"}},
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list", "watch"}},
	}
}

// Setup adds the pack's controllers to a manager.
func Setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	requests := calls()
	pods, err := watchPodRanges(ctx, mgr, env.Live)
	if err != nil {
		return err
	}
	clouds := openstack.New(openstack.Options{
		QPS: options.QPS, Calls: options.Calls, Authorities: options.Authorities, Hosts: options.Hosts,
		Open: options.Open, Closed: append(serviceRanges(ctx, env.Live), options.Closed...),
		Pods: pods.ranges, UserAgent: "kinship", Observe: observed(requests),
	})
	engine := external.New(mgr, external.Options{
		Group: kit.Group, Noun: "OpenStack resource", Cloud: "OpenStack",
		Workers: options.Workers, Resync: options.Resync, Summary: options.Conditions == AllConditions,
		Live: env.Live, Events: mgr.GetEventRecorder("kinship-openstack"),
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
	for _, c := range []prometheus.Collector{requests, engine.Metrics()} {
		if err := ctrlmetrics.Registry.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}
