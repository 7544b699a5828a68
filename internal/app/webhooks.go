package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// webhooksOf returns where the certificates are kept that a webhook
// configuration trusts, or nil for other objects.
func webhooksOf(obj client.Object) []*admissionregistrationv1.WebhookClientConfig {
	var configs []*admissionregistrationv1.WebhookClientConfig
	switch c := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			configs = append(configs, &c.Webhooks[i].ClientConfig)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			configs = append(configs, &c.Webhooks[i].ClientConfig)
		}
	}
	return configs
}

// truster keeps the certificates to trust in the packs' webhook configurations,
// also when somebody else writes those: a GitOps tool that knows of none takes
// them out. It runs in every replica, and writes nothing where nothing changed.
type truster struct {
	client       client.Client
	watcher      *relation.Watcher
	certificates *certificate.Manager
	log          logr.Logger
	names        map[object.ID]client.Object
	changed      chan struct{}
}

func newTruster(c client.Client, chosen []pack.Pack, watcher *relation.Watcher, log logr.Logger) *truster {
	t := &truster{
		client: c, watcher: watcher, log: log,
		names: map[object.ID]client.Object{}, changed: make(chan struct{}, 1),
	}
	for _, p := range chosen {
		for _, obj := range p.Objects(pack.Installation{Enforcement: pack.ByWebhook}) {
			if kind := configurationKind(obj); webhooksOf(obj) != nil {
				t.names[object.Of(obj, kind)] = obj
			}
		}
	}
	watcher.OnObject(func(c relation.Change) {
		if _, ours := t.names[c.Object().ID]; ours {
			t.wake()
		}
	})
	return t
}

func configurationKind(obj client.Object) schema.GroupKind {
	kind := guard.ConfigurationKind
	if _, mutating := obj.(*admissionregistrationv1.MutatingWebhookConfiguration); mutating {
		kind.Kind = "MutatingWebhookConfiguration"
	}
	return kind
}

func (t *truster) wake() {
	select {
	case t.changed <- struct{}{}:
	default: // It is awake already.
	}
}

// NeedLeaderElection tells the manager to run it in every replica.
func (t *truster) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (t *truster) Start(ctx context.Context) error {
	kinds := make([]schema.GroupKind, 0, len(t.names))
	for id := range t.names {
		kinds = append(kinds, id.GroupKind())
	}
	t.watcher.Use(object.ID{Kind: "Truster"}, kinds...)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.changed:
		}
		bundle, ok := t.certificates.Current()
		if !ok {
			continue
		}
		if err := t.trust(ctx, bundle.CA); err != nil && ctx.Err() == nil {
			t.log.Error(err, "Webhook configurations may trust the wrong certificate")
		}
	}
}

// trust writes the certificates to trust into every webhook configuration.
func (t *truster) trust(ctx context.Context, bundle []byte) error {
	failed := make([]error, 0, len(t.names))
	for _, obj := range t.names {
		// The leader writes rules into the same objects, and every replica this.
		failed = append(failed, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			return trustOne(ctx, t.client, obj.DeepCopyObject().(client.Object), bundle)
		}))
	}
	return errors.Join(failed...)
}

func trustOne(ctx context.Context, c client.Client, obj client.Object, bundle []byte) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return fmt.Errorf("read webhook configuration %s: %w", obj.GetName(), err)
	}
	before := obj.DeepCopyObject().(client.Object)
	changed := false
	for _, webhook := range webhooksOf(obj) {
		changed = changed || !bytes.Equal(webhook.CABundle, bundle)
		webhook.CABundle = bundle
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("write certificates to trust into webhook configuration %s: %w", obj.GetName(), err)
	}
	return nil
}
