package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/bench/internal/gauge"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/options"
)

// rig is a control plane with an operator in this process.
type rig struct {
	flags

	cluster *localcluster.Cluster
	client  client.Client
	clients kubernetes.Interface
	plainly map[string]content // the Deployments of the plain way, by name
	end     context.CancelFunc
	ended   chan error
}

// start starts the control plane and the operator.
func start(ctx context.Context, o flags) (*rig, error) {
	fmt.Fprintln(os.Stderr, "Starting a control plane and the operator ...")
	r := &rig{flags: o, ended: make(chan error, 1)}
	operator := options.Options{
		Packs: []string{"iot"}, WebhookHost: "127.0.0.1", MetricsAddress: "0", HealthAddress: "0", Install: true,
	}
	var err error
	// BeforeControllers installs the CRDs before kube-controller-manager starts: its garbage
	// collector would see a later CRD only after 30 seconds.
	r.cluster, err = localcluster.Start(ctx, localcluster.Options{
		BeforeControllers: func(ctx context.Context, config *rest.Config) error {
			early := operator
			early.Config, early.Log = config, logr.Discard()
			return install.Install(ctx, early)
		},
	})
	if err != nil {
		return nil, err
	}
	config := r.cluster.Config()
	config.QPS = -1
	scheme, err := options.NewScheme(operator)
	if err == nil {
		r.client, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err == nil {
		r.clients, err = kubernetes.NewForConfig(config)
	}
	if err == nil {
		operator.Config = config
		err = r.operate(ctx, operator)
	}
	if err != nil {
		return nil, errors.Join(err, r.stop())
	}
	return r, nil
}

// operate calls operator.Run until rig.stop, and returns when options.Options.Ready was called.
func (r *rig) operate(ctx context.Context, o options.Options) error {
	log, err := os.Create(filepath.Join(r.cluster.DataDir(), "operator.log"))
	if err != nil {
		return fmt.Errorf("make log: %w", err)
	}
	ready := make(chan struct{})
	o.Log = logr.FromSlogHandler(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	ctrl.SetLogger(o.Log)
	o.Ready = func() { close(ready) }
	ctx, r.end = context.WithCancel(ctx)
	go func() { r.ended <- errors.Join(operator.Run(ctx, o), log.Close()) }()
	select {
	case <-ready:
		return nil
	case err := <-r.ended:
		r.end = nil
		return fmt.Errorf("the operator ended: %w", err)
	}
}

func (r *rig) stop() error {
	var err error
	if r.end != nil {
		r.end()
		err = <-r.ended
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, r.cluster.Stop())
}

// namespace creates a Namespace.
func (r *rig) namespace(ctx context.Context, name string) error {
	err := r.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	return nil
}

// clear deletes a Namespace and waits for the end of its deletion, so that the control plane is
// idle at the start of the next measurement.
func (r *rig) clear(ctx context.Context, name string) error {
	fmt.Fprintf(os.Stderr, "Emptying %s ...\n", name)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := r.client.Delete(ctx, ns); err != nil {
		return fmt.Errorf("delete namespace: %w", err)
	}
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		err := r.client.Get(ctx, client.ObjectKeyFromObject(ns), ns)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// requests reads apiserver_request_total from the API server.
func (r *rig) requests(ctx context.Context) (gauge.Counts, error) {
	return gauge.ReadCounts(ctx, r.clients.Discovery().RESTClient())
}
