package app

import (
	"bytes"
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
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

// trust writes the certificates to trust into the packs' webhook configurations.
// It writes nothing where nothing changes.
func trust(chosen []pack.Pack, c client.Client) func(context.Context, []byte) error {
	return func(ctx context.Context, bundle []byte) error {
		for _, p := range chosen {
			for _, obj := range p.Objects(pack.Installation{Enforcement: pack.ByWebhook}) {
				if webhooksOf(obj) == nil {
					continue
				}
				if err := trustOne(ctx, c, obj, bundle); err != nil {
					return err
				}
			}
		}
		return nil
	}
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
