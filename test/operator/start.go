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

	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// readyTimeout is for slow machines: an operator is ready after about a second.
const readyTimeout = time.Minute

// packs are those that this test binary runs, all when empty.
var packs []string

// Packs has the operators of this test binary run some packs only: what a test is not
// about costs time. It is called before the first test runs.
func Packs(names ...string) { packs = names }

// Operator is one that runs inside the test binary.
type Operator struct {
	cancel  context.CancelFunc
	stopped chan struct{}
	err     error // valid once stopped is closed
	log     tail
}

// Start installs and runs the operator in this process until the end of the
// test, and returns when it is ready. What the changes leave alone is as for one
// replica outside of the cluster, on a free port of 127.0.0.1. The log is shown
// if the test fails.
func Start(tb testing.TB, changes ...func(*app.Options)) *Operator {
	tb.Helper()
	o := &Operator{stopped: make(chan struct{})}
	ready := make(chan struct{})
	options := app.Options{
		Config:  testenv.Config(tb),
		Packs:   packs,
		Install: true,
		// Definitions that testenv installed belong to somebody else.
		Adopt:          true,
		WebhookHost:    "127.0.0.1",
		MetricsAddress: "0",
		HealthAddress:  "0",
		Log:            logr.FromSlogHandler(slog.NewTextHandler(&o.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Ready:          sync.OnceFunc(func() { close(ready) }),
	}
	options.Openstack.Open = openstack.Loopback // Clouds and images are on this machine.
	for _, change := range changes {
		change(&options)
	}
	ownMetrics()
	// It outlives the test's context, which ends before the test's cleanups: they
	// delete objects that are locked.
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	o.cancel = cancel
	go func() {
		defer close(o.stopped)
		o.err = app.Run(ctx, options)
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

// Stop ends the operator, waits until it has ended, and returns what it failed
// with. Calling it again returns the same.
func (o *Operator) Stop() error {
	o.cancel()
	<-o.stopped
	if errors.Is(o.err, context.Canceled) {
		return nil
	}
	return o.err
}

// Log returns what the operator has logged so far.
func (o *Operator) Log() string { return o.log.String() }

// ownMetrics gives the next operator a registry of its own. In life there is one
// operator in a process and one registry.
func ownMetrics() { ctrlmetrics.Registry = prometheus.NewRegistry() }

// Client returns a client that may do everything and knows the kinds of all
// packs.
func Client(tb testing.TB) client.WithWatch {
	tb.Helper()
	scheme, err := app.NewScheme(app.Options{})
	if err != nil {
		tb.Fatalf("operator: %v", err)
	}
	return testenv.Client(tb, scheme)
}
