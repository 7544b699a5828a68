package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/bench/internal/gauge"
)

const (
	// parallel is the number of concurrent requests; the operator has as many workers.
	parallel = 16
	image    = "example.com/destination:1"
	// destination is Container.Type in each Deployment.
	destination = "Destination"
)

// figures are the results of one rig.composed.
type figures struct {
	cost                              // until all were Available
	ready                             time.Duration
	deploymentWrites, connectorWrites int
	deploymentReads                   int
	idleRequests                      int
	edits, deletions                  []time.Duration
}

// print writes the figures, with the cost of rig.plain before and after.
func (f figures) print(w io.Writer, o flags, before, after cost) {
	n := o.connectors * o.each
	plain := between(before, after)
	fmt.Fprintf(w, "%d IotConnectors of %d Deployments\n", o.connectors, o.each)
	fmt.Fprintf(w, "plain server-side apply, all %d Available  %6.1f s   before %.1f, after %.1f\n", n,
		plain.took.Seconds(), before.took.Seconds(), after.took.Seconds())
	fmt.Fprintf(w, "IotConnectors, all %d Available            %6.1f s   ratio %.2f\n", n,
		f.took.Seconds(), f.took.Seconds()/plain.took.Seconds())
	fmt.Fprintln(w, "processor time of API server, rest of the control plane, operator and client")
	for _, way := range []struct {
		name string
		cost cost
	}{{"plain", plain}, {"IotConnectors", f.cost}} {
		fmt.Fprintf(w, "  %-13s %29.1f + %.1f + %.1f = %.1f s\n", way.name, way.cost.apiServer.Seconds(),
			way.cost.rest.Seconds(), way.cost.own.Seconds(), way.cost.cpu().Seconds())
	}
	fmt.Fprintf(w, "IotConnectors, all %d Ready                 %6.1f s\n", o.connectors, f.ready.Seconds())
	fmt.Fprintf(w, "writes for each Deployment                   %6.2f\n", float64(f.deploymentWrites)/float64(n))
	fmt.Fprintf(w, "reads for each Deployment                    %6.2f\n", float64(f.deploymentReads)/float64(n))
	fmt.Fprintf(w, "writes for each IotConnector                 %6.2f\n",
		float64(f.connectorWrites)/float64(o.connectors))
	fmt.Fprintf(w, "requests in %s of idleness                   %6d\n", o.idle, f.idleRequests)
	printTimes(w, "edited", f.edits)
	printTimes(w, "deleted", f.deletions)
}

// exceeded returns an error for each limit in flags that the figures exceed. A negative limit
// means no limit.
func (f figures) exceeded(o flags, before, after cost) error {
	var failed []error
	limit := func(what string, is, most float64) {
		if most >= 0 && is > most {
			failed = append(failed, fmt.Errorf("%s: %.2f, at most %.2f may be", what, is, most))
		}
	}
	n := float64(o.connectors * o.each)
	limit("ratio", f.took.Seconds()/between(before, after).took.Seconds(), o.maxRatio)
	limit("writes and reads for each Deployment", float64(f.deploymentWrites+f.deploymentReads)/n, o.maxDeployment)
	limit("writes for each IotConnector", float64(f.connectorWrites)/float64(o.connectors), o.maxConnector)
	limit("requests while idle", float64(f.idleRequests), o.maxIdle)
	return errors.Join(failed...)
}

// printTimes writes the median and the maximum of sorted times.
func printTimes(w io.Writer, what string, times []time.Duration) {
	fmt.Fprintf(w, "Deployment %-7s -> back, median / max of %d %6d / %d ms\n", what, len(times),
		times[len(times)/2].Milliseconds(), times[len(times)-1].Milliseconds())
}

// plain creates the Deployments by server-side apply, and returns the cost until all are Available.
// plain creates the ServiceAccounts of their Pods earlier.
func (r *rig) plain(ctx context.Context) (cost, error) {
	const ns = "plain"
	if err := r.namespace(ctx, ns); err != nil {
		return cost{}, err
	}
	err := r.parallelly(ctx, r.connectors, func(ctx context.Context, i int) error {
		return r.client.Create(ctx, account(ns, connectorName(i)))
	})
	if err != nil {
		return cost{}, fmt.Errorf("create accounts: %w", err)
	}
	fmt.Fprintln(os.Stderr, "Applying Deployments ...")
	done, end := r.watch(ctx, ns)
	defer end()
	used, err := r.used()
	if err != nil {
		return cost{}, err
	}
	begin := time.Now()
	err = r.parallelly(ctx, r.connectors*r.each, func(ctx context.Context, i int) error {
		u := deployment(ns, connectorName(i/r.each), i%r.each)
		return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
			client.FieldOwner("plain"), client.ForceOwnership)
	})
	if err != nil {
		return cost{}, fmt.Errorf("apply: %w", err)
	}
	select {
	case <-done:
	case <-ctx.Done():
		return cost{}, ctx.Err()
	}
	c, err := r.measured(begin, used)
	if err != nil {
		return cost{}, err
	}
	if r.plainly, err = r.made(ctx, ns); err != nil {
		return cost{}, err
	}
	return c, r.clear(ctx, ns)
}

// composed creates the Deployments by IotConnectors.
func (r *rig) composed(ctx context.Context) (figures, error) {
	const ns = "composed"
	var f figures
	if err := r.namespace(ctx, ns); err != nil {
		return f, err
	}
	before, err := r.requests(ctx)
	if err != nil {
		return f, err
	}
	fmt.Fprintln(os.Stderr, "Creating IotConnectors ...")
	done, end := r.watch(ctx, ns)
	defer end()
	used, err := r.used()
	if err != nil {
		return f, err
	}
	begin := time.Now()
	err = r.parallelly(ctx, r.connectors, func(ctx context.Context, i int) error {
		return r.client.Create(ctx, r.connector(ns, i))
	})
	if err != nil {
		return f, fmt.Errorf("create: %w", err)
	}
	select {
	case <-done:
	case <-ctx.Done():
		return f, ctx.Err()
	}
	if f.cost, err = r.measured(begin, used); err != nil {
		return f, err
	}
	if err := r.awaitReady(ctx, ns); err != nil {
		return f, err
	}
	f.ready = time.Since(begin)
	after, err := r.requests(ctx)
	if err != nil {
		return f, err
	}
	// Kubernetes' controllers send none of these requests: their writes are to deployments/status
	// and POSTs of ServiceAccounts, and the API server reads ServiceAccounts itself.
	f.deploymentWrites = spent(before, after, "deployments", "", "APPLY", "PATCH", "PUT", "POST", "DELETE")
	f.deploymentReads = spent(before, after, "deployments", "", "GET")
	f.connectorWrites = spent(before, after, "serviceaccounts", "", "APPLY", "PATCH", "PUT", "DELETE") +
		spent(before, after, "iotconnectors", "", "PATCH", "PUT", "APPLY", "DELETE") +
		spent(before, after, "iotconnectors", "status", "PATCH", "PUT", "APPLY")
	if f.idleRequests, err = r.idleRequests(ctx); err != nil {
		return f, err
	}
	if err := r.same(ctx, ns); err != nil {
		return f, err
	}
	if f.edits, f.deletions, err = r.drift(ctx, ns); err != nil {
		return f, err
	}
	return f, r.clear(ctx, ns)
}

// idleRequests counts the requests about the kinds of the pack iot during flags.idle.
func (r *rig) idleRequests(ctx context.Context) (int, error) {
	before, err := r.requests(ctx)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(r.idle):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := r.requests(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, resource := range []string{"deployments", "serviceaccounts", "iotconnectors", "iotconnectorreleases"} {
		for _, sub := range []string{"", "status"} {
			n += spent(before, after, resource, sub, "GET", "LIST", "PATCH", "PUT", "APPLY", "POST", "DELETE")
		}
	}
	return n, nil
}

func spent(before, after gauge.Counts, resource, subresource string, verbs ...string) int {
	n := 0
	for r, more := range after.Minus(before) {
		if r.Resource == resource && r.Subresource == subresource && slices.Contains(verbs, r.Verb) {
			n += more
		}
	}
	return n
}

// parallelly calls f for the numbers from 0 to n-1, in `parallel` goroutines.
func (r *rig) parallelly(ctx context.Context, n int, f func(context.Context, int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// watch returns a channel that is closed when all Deployments are Available, and a function that
// ends the informer.
func (r *rig) watch(ctx context.Context, ns string) (<-chan struct{}, func()) {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactoryWithOptions(r.clients, 0, informers.WithNamespace(ns))
	informer := factory.Apps().V1().Deployments().Informer()
	var mu sync.Mutex
	available, done := map[string]bool{}, make(chan struct{})
	see := func(obj any) {
		d, ok := obj.(*appsv1.Deployment)
		if !ok || d.Status.AvailableReplicas < 1 {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if !available[d.Name] {
			available[d.Name] = true
			if len(available) == r.connectors*r.each {
				close(done)
			}
		}
	}
	// AddEventHandler fails only after the informer has ended.
	_, _ = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) },
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return done, func() {
		cancel()
		factory.Shutdown()
	}
}

// awaitReady waits until all IotConnectors are Ready.
func (r *rig) awaitReady(ctx context.Context, ns string) error {
	for {
		var list iotv1alpha1.IotConnectorList
		if err := r.client.List(ctx, &list, client.InNamespace(ns)); err != nil {
			return fmt.Errorf("list IotConnectors: %w", err)
		}
		ready := 0
		for i := range list.Items {
			if meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, "Ready") {
				ready++
			}
		}
		if ready == r.connectors {
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// connector returns an IotConnector with flags.each Deployments.
func (r *rig) connector(ns string, i int) *iotv1alpha1.IotConnector {
	version := iotv1alpha1.Version1
	c := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: connectorName(i)}}
	c.Spec.Version = &version
	for j := range r.each {
		c.Spec.Deployments = append(c.Spec.Deployments, iotv1alpha1.Deployment{
			Name: deploymentName(connectorName(i), j), Containers: []iotv1alpha1.Container{{Type: destination, Image: image}},
		})
	}
	return c
}
