package operator

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// readyTimeout is for slow machines: an operator is usually ready after 1 second.
const readyTimeout = time.Minute

// packs are the packs that every operator of this test binary runs; all packs if empty.
var packs []string

// Packs limits the operators of this test binary to some packs, to save time. Call Packs before the
// first test.
func Packs(names ...string) { packs = names }

// Operator is an operator that runs inside the test binary.
type Operator struct {
	cancel  context.CancelFunc
	stopped chan struct{}
	err     error // valid once stopped is closed
	log     tail
}

// Start installs and runs the operator in this process until the end of the test, and returns when
// the operator is ready. The default options.Options are for one replica outside of the cluster, on a
// free port of 127.0.0.1; changes edit the options.Options. If the test fails, Start prints the log.
func Start(tb testing.TB, changes ...func(*options.Options)) *Operator {
	tb.Helper()
	o := &Operator{stopped: make(chan struct{})}
	ready := make(chan struct{})
	options := options.Options{
		Config:  testenv.Config(tb),
		Packs:   packs,
		Install: true,
		// The CRDs that testenv installed lack the label app.kubernetes.io/part-of.
		Adopt: true, TakeWebhooks: true,
		WebhookHost: "127.0.0.1",
		// At its end, a server of HTTP/2 waits a second for streams that its clients may still begin. The
		// operators of Exec offer HTTP/2.
		WebhookProtocols: []string{"http/1.1"},
		MetricsAddress:   "0",
		HealthAddress:    "0",
		Log:              logr.FromSlogHandler(slog.NewTextHandler(&o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready:            sync.OnceFunc(func() { close(ready) }),
	}
	options.Openstack.Open = openstack.Loopback // Clouds and images are on this machine.
	for _, change := range changes {
		change(&options)
	}
	ownMetrics()
	// tb.Context() ends before the cleanups, and the cleanups delete locked objects: WithoutCancel
	// lets the operator run until Operator.Stop.
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	o.cancel = cancel
	go func() {
		defer close(o.stopped)
		o.err = operator.Run(ctx, options)
	}()
	tb.Cleanup(func() {
		if err := o.Stop(); err != nil {
			tb.Errorf("operator: %v", err)
		}
		o.log.show(tb)
	})
	select {
	case <-ready:
	case <-o.stopped:
		tb.Fatalf("operator: it ended before it was ready: %v", o.err)
	case <-time.After(readyTimeout):
		tb.Fatalf("operator: not ready within %s", readyTimeout)
	}
	return o
}

// Stop ends the operator, waits until the operator has ended, and returns its error. A second Stop
// returns the same error.
func (o *Operator) Stop() error {
	o.cancel()
	<-o.stopped
	if errors.Is(o.err, context.Canceled) {
		return nil
	}
	return o.err
}

// Log returns the log of the operator so far.
func (o *Operator) Log() string { return o.log.String() }

// ownMetrics sets ctrlmetrics.Registry to a new registry for the next operator: outside of tests, a
// process has one operator and one registry.
func ownMetrics() { ctrlmetrics.Registry = &registry{Registry: prometheus.NewRegistry()} }

// Client returns a client.WithWatch with every right and the kinds of all packs in its scheme.
func Client(tb testing.TB) client.WithWatch {
	tb.Helper()
	scheme, err := options.NewScheme(options.Options{})
	if err != nil {
		tb.Fatalf("operator: %v", err)
	}
	return testenv.Client(tb, scheme)
}

// Protected has the manifests of a ConfigMap, and of a Usage that protects the ConfigMap.
const Protected = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: precious}}
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: keep}
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: precious}}
  reason: it is precious
`
