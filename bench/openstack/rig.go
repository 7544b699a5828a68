package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/localcluster"
)

const (
	secretName = "cloud"
	// clients is the number of concurrent requests to the API server.
	clients = 16
	// firstNetworks is the number of Networks that the operator and the plain client create before
	// the first measurement: then each process of a real service has validated the token with
	// Keystone.
	firstNetworks = 8
)

// rig has the measured implementation and the clients of the measurement.
type rig struct {
	options

	cluster   *localcluster.Cluster
	operator  *gauge.Operator
	emulator  *emulator.Server // nil for a real cloud
	plain     *plain
	server    kubernetes.Interface
	objects   dynamic.Interface
	namespace string
	seen      *tracker
}

// start starts the cloud, the control plane and the operator, unless --clouds or --kubeconfig name
// others. start waits until the Networks of firsts() are Available: then the implementation has
// logged in, and has read the Secret.
func start(ctx context.Context, o options, cancel context.CancelCauseFunc) (_ *rig, err error) {
	r := &rig{options: o, namespace: "bench-" + rand.String(5)}
	defer func() {
		if err != nil {
			err = errors.Join(because(ctx, err), r.stop(ctx))
		}
	}()
	clouds, err := r.startCloud()
	if err != nil {
		return nil, err
	}
	if r.plain, err = newPlain(ctx, clouds, o.cloud); err != nil {
		return nil, err
	}
	config, err := r.startOperator(ctx, cancel)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	if r.server, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if r.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return r, r.prepare(ctx, clouds)
}

func (r *rig) startCloud() ([]byte, error) {
	if r.clouds != "" {
		clouds, err := os.ReadFile(r.clouds)
		if err != nil {
			return nil, fmt.Errorf("read clouds.yaml: %w", err)
		}
		return clouds, nil
	}
	var err error
	if r.emulator, err = emulator.Start(emulator.Options{}); err != nil {
		return nil, err
	}
	return []byte(r.emulator.CloudsYAML()), nil
}

// startOperator starts a control plane with the operator, unless --kubeconfig is set.
func (r *rig) startOperator(ctx context.Context, cancel context.CancelCauseFunc) (*rest.Config, error) {
	if r.kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("read kubeconfig: %w", err)
		}
		return config, nil
	}
	fmt.Fprintln(os.Stderr, "Starting a control plane and the operator ...")
	var err error
	r.cluster, err = localcluster.Start(ctx, localcluster.Options{DataDir: r.dataDir, WithoutPods: true})
	if err != nil {
		return nil, err
	}
	// An emulator.Server, or a cloud on this machine, has a loopback address.
	args := append([]string{"--packs", "openstack", "--openstack-open-cidrs", "127.0.0.0/8"}, r.operatorArgs...)
	r.operator, err = gauge.StartOperator(ctx, r.operatorBin, r.cluster.Kubeconfig(),
		filepath.Join(r.cluster.DataDir(), "operator.log"), cancel, args...)
	if err != nil {
		return nil, err
	}
	r.operatorPID = r.operator.PID
	return r.cluster.Config(), nil
}

// prepare creates a Namespace, the Secret with clouds.yaml, and firsts().
func (r *rig) prepare(ctx context.Context, clouds []byte) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	// The operator may still be installing its CRDs.
	err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return r.areServed(ctx), nil
	})
	if err != nil {
		return fmt.Errorf("wait for the kinds to be served: %w", err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	if _, err := r.server.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secretName}, Data: map[string][]byte{openstack.CloudsKey: clouds},
	}
	if _, err := r.server.CoreV1().Secrets(r.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Secret: %w", err)
	}
	if r.seen, err = track(context.WithoutCancel(ctx), r.objects, r.namespace); err != nil {
		return err
	}
	if err := r.create(ctx, firsts()); err != nil {
		return err
	}
	return r.seen.until(ctx, firstNetworks)
}

// firsts returns firstNetworks Networks.
func firsts() []*element {
	all := make([]*element, 0, firstNetworks)
	for i := range firstNetworks {
		all = append(all, &element{kind: network, name: fmt.Sprintf("first-%d", i), resource: fields{}})
	}
	return all
}

// areServed reports whether the API server serves all kinds.
func (r *rig) areServed(ctx context.Context) bool {
	return !slices.ContainsFunc(kinds, func(k kind) bool {
		_, err := r.objects.Resource(k.gvr()).List(ctx, metav1.ListOptions{Limit: 1})
		return err != nil
	})
}

// stop deletes the objects that would otherwise remain, and ends the started processes.
func (r *rig) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.timeout)
	defer cancel()
	var errs []error
	goes := r.cluster != nil && r.emulator != nil && r.dataDir == ""
	if r.seen != nil && !goes {
		for _, k := range kinds {
			errs = append(errs, r.objects.Resource(k.gvr()).Namespace(r.namespace).
				DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
		}
		errs = append(errs, r.seen.until(ctx, 0),
			r.server.CoreV1().Namespaces().Delete(ctx, r.namespace, metav1.DeleteOptions{}))
	}
	if r.operator != nil {
		r.operator.Stop()
	}
	if r.cluster != nil {
		errs = append(errs, r.cluster.Stop())
	}
	if r.emulator != nil {
		errs = append(errs, r.emulator.Close())
	}
	return errors.Join(errs...)
}

// create creates objects in the order of elements, with `clients` concurrent requests.
func (r *rig) create(ctx context.Context, elements []*element) error {
	return parallelly(ctx, elements, func(ctx context.Context, e *element) error {
		_, err := r.objects.Resource(e.kind.gvr()).Namespace(r.namespace).
			Create(ctx, e.object(r.namespace, r.cloud), metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create %s: %w", e.name, err)
		}
		return nil
	})
}

func (r *rig) remove(ctx context.Context, elements []*element) error {
	return parallelly(ctx, elements, func(ctx context.Context, e *element) error {
		err := r.objects.Resource(e.kind.gvr()).Namespace(r.namespace).Delete(ctx, e.name, metav1.DeleteOptions{})
		if err != nil {
			return fmt.Errorf("delete %s: %w", e.name, err)
		}
		return nil
	})
}

// await waits until n objects exist, and all are Available.
func (r *rig) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return r.seen.until(ctx, n)
}

func parallelly(ctx context.Context, elements []*element, do func(context.Context, *element) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(clients)
	for _, e := range elements {
		group.Go(func() error { return do(ctx, e) })
	}
	return group.Wait()
}

// latencies returns options.latencies or, for a real cloud, 0 alone: a real cloud has its own
// latency.
func (r *rig) latencies() []time.Duration {
	if r.emulator == nil {
		return []time.Duration{0}
	}
	return r.options.latencies
}

// setLatency sets the latency of the emulator.Server.
func (r *rig) setLatency(d time.Duration) {
	if r.emulator != nil {
		r.emulator.SetLatency(d)
	}
}

// tally has the requests and calls of the operator since its start.
type tally struct {
	requests gauge.Counts
	calls    map[string]int
}

// count reads the counters of a tally. For a real cloud, tally.calls is nil.
func (r *rig) count(ctx context.Context) (tally, error) {
	var t tally
	var err error
	if t.requests, err = gauge.ReadCounts(ctx, r.server.Discovery().RESTClient()); err != nil {
		return t, err
	}
	if r.emulator != nil {
		t.calls = map[string]int{}
		for call, n := range r.emulator.Calls() {
			t.calls[call.String()] += n
		}
	}
	return t, nil
}
