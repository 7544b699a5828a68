package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
)

const (
	namespace    = "bench-azure"
	subscription = "00000000-1111-2222-3333-444444444444"
	// clients is the number of concurrent requests of rig.create.
	clients = 16
)

// rig is a control plane with an operator process and an emulator.Server.
type rig struct {
	flags

	all      *catalogue.Catalogue
	cluster  *localcluster.Cluster
	cloud    *emulator.Server
	operator *gauge.Operator
	client   client.WithWatch
	stops    []func() error
}

// start starts a rig with the given kinds enabled.
func start(ctx context.Context, o flags, cloud emulator.Options, kinds ...*catalogue.Kind) (r *rig, err error) {
	r = &rig{flags: o}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.stop())
		}
	}()
	if r.all, err = catalogue.Embedded(); err != nil {
		return r, err
	}
	if err := r.startCluster(ctx, kinds); err != nil {
		return r, err
	}
	if r.cloud, err = emulator.Start(cloud); err != nil {
		return r, err
	}
	r.stops = append(r.stops, r.cloud.Close)
	ctx, cancel := context.WithCancelCause(ctx)
	r.operator, err = gauge.StartOperator(ctx, o.program, r.cluster.Kubeconfig(),
		filepath.Join(r.cluster.DataDir(), "operator.log"), func(err error) {
			fmt.Fprintln(os.Stderr, err)
			cancel(err)
		},
		"--packs", "azure", "--azure-endpoint", r.cloud.URL(), "--azure-credential", azure.NoCredential,
		"--azure-subscription", subscription)
	if err != nil {
		cancel(nil)
		return r, err
	}
	r.stops = append(r.stops, func() error { cancel(nil); r.operator.Stop(); return nil })
	return r, r.firstGroup(ctx)
}

// startCluster starts a control plane, and enables kinds in BeforeControllers: the garbage
// collector must know the kinds at its start.
func (r *rig) startCluster(ctx context.Context, kinds []*catalogue.Kind) (err error) {
	fmt.Fprintf(os.Stderr, "Starting a control plane with %d kinds ...\n", len(kinds))
	r.cluster, err = localcluster.Start(ctx, localcluster.Options{
		WithoutPods: true, StartTimeout: 5 * time.Minute,
		BeforeControllers: func(ctx context.Context, config *rest.Config) (err error) {
			config = rest.CopyConfig(config)
			config.QPS = -1
			if r.client, err = client.NewWithWatch(config, client.Options{Scheme: clientgoscheme.Scheme}); err != nil {
				return fmt.Errorf("make client: %w", err)
			}
			if err := r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
				return fmt.Errorf("create namespace: %w", err)
			}
			return r.enable(ctx, kinds...)
		},
	})
	if err != nil {
		return err
	}
	r.stops = append(r.stops, r.cluster.Stop)
	return nil
}

// stop calls rig.stops in reverse order.
func (r *rig) stop() error {
	var failed []error
	for len(r.stops) > 0 {
		failed = append(failed, r.stops[len(r.stops)-1]())
		r.stops = r.stops[:len(r.stops)-1]
	}
	return errors.Join(failed...)
}

// enable enables kinds as `kinship azure enable` does.
func (r *rig) enable(ctx context.Context, kinds ...*catalogue.Kind) error {
	account := rbacv1.Subject{
		Kind: rbacv1.ServiceAccountKind, Namespace: options.Namespace, Name: options.AccountOf("azure"),
	}
	return packazure.Enable(ctx, r.client, r.all, kinds, packazure.Grant{Account: account})
}

// firstGroup creates a ResourceGroup and waits until the operator reports it Ready.
func (r *rig) firstGroup(ctx context.Context) error {
	if len(r.kinds("rg")) == 0 {
		return nil
	}
	seen := r.track(ctx, "rg")
	defer seen.stop()
	first := group("first")
	if err := r.create(ctx, first); err != nil {
		return err
	}
	_, err := seen.ready(ctx, first)
	return err
}

// element is an object of the benchmark. element.kind is a key of types, such as "vnet".
type element struct {
	kind, name, owner string
	spec              map[string]any
}

func (e element) key() string { return e.kind + "/" + e.name }

// types are the ARM types of the benchmark, by element.kind.
var types = map[string]string{
	"rg": "Microsoft.Resources/resourceGroups", "vnet": "Microsoft.Network/virtualNetworks",
	"subnet": "Microsoft.Network/virtualNetworks/subnets", "table": "Microsoft.Network/routeTables",
	"route": "Microsoft.Network/routeTables/routes", "nic": "Microsoft.Network/networkInterfaces",
}

// kinds returns the catalogue.Kind of each of names, which are keys of types.
func (r *rig) kinds(names ...string) (kinds []*catalogue.Kind) {
	for _, name := range names {
		kinds = append(kinds, r.all.Default(types[name]))
	}
	return kinds
}

func kindsOf(names ...string) ([]*catalogue.Kind, error) {
	all, err := catalogue.Embedded()
	if err != nil {
		return nil, err
	}
	return (&rig{all: all}).kinds(names...), nil
}

// create creates objects in the order of elements, with `clients` concurrent requests.
func (r *rig) create(ctx context.Context, elements ...element) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for _, e := range elements {
		group.Go(func() error {
			if err := r.client.Create(ctx, r.object(e)); err != nil {
				return fmt.Errorf("create %s: %w", e.key(), err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *rig) object(e element) *unstructured.Unstructured {
	u := r.blank(e.kind)
	u.SetNamespace(namespace)
	u.SetName(e.name)
	spec := map[string]any{}
	maps.Copy(spec, e.spec)
	if e.owner != "" {
		spec["ownerRef"] = to(e.owner)
	}
	u.Object["spec"] = spec
	return u
}

func (r *rig) blank(kind string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(r.all.Default(types[kind]).GroupVersionKind())
	return u
}

// to returns an ownerRef, or another reference, to an object.
func to(name string) map[string]any {
	return map[string]any{"kubernetes": map[string]any{"name": name}}
}

func group(name string) element {
	return element{kind: "rg", name: name, spec: map[string]any{"location": "westeurope"}}
}

func table(name, owner string) element {
	return element{kind: "table", name: name, owner: owner, spec: map[string]any{"location": "westeurope"}}
}
