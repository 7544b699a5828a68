package app

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"sync"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// hook is a webhook of a webhook configuration, with its clientConfig.
type hook struct {
	name   string
	config *admissionregistrationv1.WebhookClientConfig
}

// webhooksOf returns the webhooks of a webhook configuration in order, or nil for an object of
// another kind.
func webhooksOf(obj client.Object) []hook {
	hooks := []hook{}
	switch c := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			hooks = append(hooks, hook{c.Webhooks[i].Name, &c.Webhooks[i].ClientConfig})
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			hooks = append(hooks, hook{c.Webhooks[i].Name, &c.Webhooks[i].ClientConfig})
		}
	default:
		return nil
	}
	return hooks
}

// pathOf returns the path in a clientConfig: service.path, or the path of url.
func pathOf(c *admissionregistrationv1.WebhookClientConfig) string {
	switch {
	case c.Service != nil && c.Service.Path != nil:
		return *c.Service.Path
	case c.URL != nil:
		if u, err := url.Parse(*c.URL); err == nil {
			return u.Path
		}
	}
	return ""
}

// setPath sets the path in a clientConfig.
func setPath(c *admissionregistrationv1.WebhookClientConfig, path string) error {
	switch {
	case c.Service != nil:
		c.Service.Path = &path
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			return fmt.Errorf("read the URL of a webhook: %w", err)
		}
		u.Path = path
		text := u.String()
		c.URL = &text
	}
	return nil
}

// trustOwner and pathOwner own the fields that the truster writes into webhook configurations. The
// rules of the same webhooks have another owner, [guard.Rules].
const (
	trustOwner = client.FieldOwner("kinship-webhook-trust")
	pathOwner  = client.FieldOwner("kinship-webhook-path")
)

// truster writes the caBundle and the secret path into the packs' webhook configurations. A GitOps
// tool that applies a webhook configuration knows neither value and may remove both: the truster
// then writes both again. truster runs in every replica, and writes only changes.
type truster struct {
	client       client.Client
	watcher      *relation.Watcher
	certificates *certificate.Manager
	log          logr.Logger
	names        map[object.ID]client.Object
	changed      chan struct{}
	writing      sync.Mutex // held by trust, so that two calls write once
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

// NeedLeaderElection makes the manager.Manager run truster in every replica.
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
		if err := t.trust(ctx, bundle); err != nil && ctx.Err() == nil {
			t.log.Error(err, "Webhook configurations may trust the wrong certificate")
		}
	}
}

// trust writes Bundle.CA and Bundle.Path into every webhook configuration.
func (t *truster) trust(ctx context.Context, bundle certificate.Bundle) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	failed := make([]error, 0, len(t.names))
	for _, template := range t.names {
		failed = append(failed, trustOne(ctx, t.client, template, bundle))
	}
	return errors.Join(failed...)
}

// trustOne corrects one webhook configuration. trustOne applies the caBundle of each webhook as
// trustOwner, so there is no conflict with the operator's other writers or with a GitOps tool that
// applies. The path is a part of clientConfig.url or clientConfig.service, which installManager
// owns. So trustOne patches the path, and only if the path is wrong.
func trustOne(ctx context.Context, c client.Client, template client.Object, bundle certificate.Bundle) error {
	obj := template.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return fmt.Errorf("read webhook configuration %s: %w", obj.GetName(), err)
	}
	distrusted := false
	webhooks := []any{}
	for _, h := range webhooksOf(obj) { // In their order, or applying would change the order.
		distrusted = distrusted || !bytes.Equal(h.config.CABundle, bundle.CA)
		webhooks = append(webhooks, map[string]any{
			"name": h.name, "clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle.CA)},
		})
	}
	if distrusted {
		trusting := &unstructured.Unstructured{Object: map[string]any{"webhooks": webhooks}}
		trusting.SetGroupVersionKind(
			admissionregistrationv1.SchemeGroupVersion.WithKind(configurationKind(obj).Kind))
		trusting.SetName(obj.GetName())
		trusting.SetUID(obj.GetUID())
		err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(trusting), trustOwner, client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply CAs to trust to webhook configuration %s: %w", obj.GetName(), err)
		}
	}
	before := obj.DeepCopyObject().(client.Object)
	if err := hide(obj, template, bundle.Path); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(before, obj) {
		return nil
	}
	if err := c.Patch(ctx, obj, client.StrategicMergeFrom(before), pathOwner); err != nil {
		return fmt.Errorf("write secret paths into webhook configuration %s: %w", obj.GetName(), err)
	}
	return nil
}

// hide appends the secret part to the path of each webhook in template. A webhook that another
// project added to the configuration keeps its path.
func hide(obj, template client.Object, secret string) error {
	for _, open := range webhooksOf(template) {
		for _, h := range webhooksOf(obj) {
			if h.name != open.name {
				continue
			}
			if err := setPath(h.config, pathOf(open.config)+"/"+secret); err != nil {
				return fmt.Errorf("hide webhook %s: %w", h.name, err)
			}
		}
	}
	return nil
}
