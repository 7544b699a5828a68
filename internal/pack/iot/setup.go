package iot

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// workers is how many IotConnectors are reconciled at the same time. The API server is the
// limit.
const workers = 16

// setup adds the controllers and the admission handlers of the pack to a manager.
func setup(ctx context.Context, mgr manager.Manager, env pack.Environment, options Options) error {
	kinds, err := composedKinds(mgr.GetRESTMapper(), options)
	if err != nil {
		return err
	}
	// The manager's cache drops metadata.managedFields, by which apply notices edits.
	composed, err := env.NewCache(cache.Options{DefaultTransform: trim})
	if err != nil {
		return fmt.Errorf("make cache: %w", err)
	}
	connectors, err := reconcile.WatchOwn(ctx, mgr.GetCache(), connectorKind.GroupKind(), &iotv1alpha1.IotConnector{})
	if err != nil {
		return err
	}
	releases, err := reconcile.WatchOwn(ctx, mgr.GetCache(), releaseKind.GroupKind(), &iotv1alpha1.IotConnectorRelease{})
	if err != nil {
		return err
	}
	recorder := mgr.GetEventRecorder(fieldOwner)
	connector := newReconciler(env.Live, connectors, recorder, clock.RealClock{}, options.Identity)
	release := newRollout(mgr.GetClient(), env.Live, &releases.Writes, recorder, clock.RealClock{})
	for _, add := range []func() error{
		func() error { return mgr.Add(composed) },
		func() error { return connector.stores.Add(ctx, composed, kinds...) },
		func() error { return release.listen(releases, connectors) },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	for _, c := range []reconcile.Controller{
		{
			Name: "iotconnector", Reconciler: connector.pass(connectors.Read), Queue: &connectors.Queue, Workers: workers,
			Heard: func(ctx context.Context) bool { return connectors.Heard(ctx) && connector.stores.Heard(ctx) },
			All:   connectors.All,
		},
		{ // One worker, because all releases of a namespace change the same IotConnectors.
			Name: "iotconnectorrelease", Reconciler: release.pass(releases.Read), Queue: &releases.Queue, Workers: 1,
			Heard: func(ctx context.Context) bool { return releases.Heard(ctx) && connectors.Heard(ctx) },
			All:   releases.All,
		},
	} {
		if err := c.AddTo(mgr); err != nil {
			return err
		}
	}
	if env.Enforcement == pack.ByWebhook {
		v := &validator{reviewer: env.Reviewer, operators: env.Operators, identity: options.Identity}
		mgr.GetWebhookServer().Register(validatePath, &webhook.Admission{Handler: v})
		mgr.GetWebhookServer().Register(defaultPath, &webhook.Admission{Handler: admission.HandlerFunc(v.Default)})
	}
	return nil
}
