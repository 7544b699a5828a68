package guards

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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// NewCertificates returns the certificate.Manager of the webhooks' certificate.
func NewCertificates(
	o options.Options, c client.WithWatch, onBundle func(context.Context, certificate.Bundle) error,
) *certificate.Manager {
	return certificate.New(certificate.Options{
		Client: c, Secret: types.NamespacedName{Namespace: options.Namespace, Name: options.CertificateSecret},
		Names: o.WebhookNames(), OnBundle: onBundle,
	})
}

// Webhook is a webhook of a webhook configuration, with its clientConfig.
type Webhook struct {
	Name   string
	Config *admissionregistrationv1.WebhookClientConfig
}

// WebhooksOf returns the webhooks of a webhook configuration in order, or nil for an object of
// another kind.
func WebhooksOf(obj client.Object) []Webhook {
	hooks := []Webhook{}
	switch c := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			hooks = append(hooks, Webhook{c.Webhooks[i].Name, &c.Webhooks[i].ClientConfig})
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			hooks = append(hooks, Webhook{c.Webhooks[i].Name, &c.Webhooks[i].ClientConfig})
		}
	default:
		return nil
	}
	return hooks
}

// PathOf returns the path in a clientConfig: service.path, or the path of url.
func PathOf(c *admissionregistrationv1.WebhookClientConfig) string {
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

// trustOwner and pathOwner own the fields that the TrustWriter writes into webhook configurations. The
// rules of the same webhooks have another owner, [guard.Rules].
const (
	trustOwner = client.FieldOwner("kinship-webhook-trust")
	pathOwner  = client.FieldOwner("kinship-webhook-path")
)

// TrustWriter writes the caBundle and the secret path into the packs' webhook configurations. A GitOps
// tool that applies a webhook configuration knows neither value and may remove both: the TrustWriter
// then writes both again. TrustWriter runs in every replica, and writes only changes.
type TrustWriter struct {
	client       client.Client
	watcher      *relation.Watcher
	Certificates *certificate.Manager
	log          logr.Logger
	names        map[object.ID]client.Object
	changed      chan struct{}
	writing      sync.Mutex // held by trust, so that two calls write once
}

// NewTrustWriter returns the TrustWriter of the webhook configurations of some packs.
func NewTrustWriter(c client.Client, chosen []pack.Pack, watcher *relation.Watcher, log logr.Logger) *TrustWriter {
	t := &TrustWriter{
		client: c, watcher: watcher, log: log,
		names: map[object.ID]client.Object{}, changed: make(chan struct{}, 1),
	}
	for _, p := range chosen {
		for _, obj := range p.Objects(pack.Installation{Enforcement: pack.ByWebhook}) {
			if kind := configurationKind(obj); WebhooksOf(obj) != nil {
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

func (t *TrustWriter) wake() {
	select {
	case t.changed <- struct{}{}:
	default: // It is awake already.
	}
}

// NeedLeaderElection makes the manager.Manager run TrustWriter in every replica.
func (t *TrustWriter) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (t *TrustWriter) Start(ctx context.Context) error {
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
		bundle, ok := t.Certificates.Current()
		if !ok {
			continue
		}
		if err := t.Trust(ctx, bundle); err != nil && ctx.Err() == nil {
			t.log.Error(err, "Webhook configurations may trust the wrong certificate")
		}
	}
}

// Trust writes Bundle.CA and Bundle.Path into every webhook configuration.
func (t *TrustWriter) Trust(ctx context.Context, bundle certificate.Bundle) error {
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
// applies. The path is a part of clientConfig.url or clientConfig.service, which InstallManager
// owns. So trustOne patches the path, and only if the path is wrong.
func trustOne(ctx context.Context, c client.Client, template client.Object, bundle certificate.Bundle) error {
	obj := template.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return fmt.Errorf("read webhook configuration %s: %w", obj.GetName(), err)
	}
	distrusted := false
	webhooks := []any{}
	for _, h := range WebhooksOf(obj) { // In their order, or applying would change the order.
		distrusted = distrusted || !bytes.Equal(h.Config.CABundle, bundle.CA)
		webhooks = append(webhooks, map[string]any{
			"name": h.Name, "clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(bundle.CA)},
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
	if err := AddSecretPath(obj, template, bundle.Path); err != nil {
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

// AddSecretPath appends the secret part to the path of each webhook in template. A webhook that another
// project added to the configuration keeps its path.
func AddSecretPath(obj, template client.Object, secret string) error {
	for _, open := range WebhooksOf(template) {
		for _, h := range WebhooksOf(obj) {
			if h.Name != open.Name {
				continue
			}
			if err := setPath(h.Config, PathOf(open.Config)+"/"+secret); err != nil {
				return fmt.Errorf("hide webhook %s: %w", h.Name, err)
			}
		}
	}
	return nil
}
