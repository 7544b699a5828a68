package app

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// webhooksOf returns, by the webhooks' names, how the API server reaches the
// webhooks of a configuration, or nil for other objects.
func webhooksOf(obj client.Object) map[string]*admissionregistrationv1.WebhookClientConfig {
	configs := map[string]*admissionregistrationv1.WebhookClientConfig{}
	switch c := obj.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			configs[c.Webhooks[i].Name] = &c.Webhooks[i].ClientConfig
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			configs[c.Webhooks[i].Name] = &c.Webhooks[i].ClientConfig
		}
	default:
		return nil
	}
	return configs
}

// pathOf returns the path that a webhook is called by.
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

// setPath changes it.
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

// truster keeps in the packs' webhook configurations which certificates to trust
// and the secret part of the paths, also when somebody else writes those: a
// GitOps tool that knows of neither takes them out. It runs in every replica, and
// writes nothing where nothing changed.
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

// trust writes the certificates to trust, and the paths, into every webhook
// configuration.
func (t *truster) trust(ctx context.Context, authorities []byte) error {
	bundle, _ := t.certificates.Current()
	failed := make([]error, 0, len(t.names))
	for _, template := range t.names {
		// The leader writes rules into the same objects, and every replica this.
		failed = append(failed, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			return trustOne(ctx, t.client, template, authorities, bundle.Path)
		}))
	}
	return errors.Join(failed...)
}

func trustOne(ctx context.Context, c client.Client, template client.Object, authorities []byte, path string) error {
	obj := template.DeepCopyObject().(client.Object)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return fmt.Errorf("read webhook configuration %s: %w", obj.GetName(), err)
	}
	before := obj.DeepCopyObject().(client.Object)
	if err := hide(obj, template, path); err != nil {
		return err
	}
	for _, config := range webhooksOf(obj) {
		config.CABundle = authorities
	}
	if equality.Semantic.DeepEqual(before, obj) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch); err != nil {
		return fmt.Errorf("write certificates to trust into webhook configuration %s: %w", obj.GetName(), err)
	}
	return nil
}

// hide puts the secret part behind the paths that the template names.
func hide(obj, template client.Object, secret string) error {
	open := webhooksOf(template)
	for name, config := range webhooksOf(obj) {
		if open[name] == nil {
			continue // Somebody else's, in an object of ours.
		}
		if err := setPath(config, pathOf(open[name])+"/"+secret); err != nil {
			return fmt.Errorf("hide webhook %s: %w", name, err)
		}
	}
	return nil
}

// hidden is a server that answers only who knows the secret part of the paths:
// the API server, which presents nothing else to be known by. Who reaches it over
// the network could otherwise have a deletion recorded that nobody asked for.
type hidden struct {
	webhook.Server
	certificates *certificate.Manager
}

// Register implements webhook.Server.
func (h hidden) Register(path string, hook http.Handler) {
	h.Server.Register(path+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bundle, ok := h.certificates.Current()
		told := strings.TrimPrefix(r.URL.Path, path+"/")
		if !ok || subtle.ConstantTimeCompare([]byte(told), []byte(bundle.Path)) != 1 {
			http.NotFound(w, r)
			return
		}
		hook.ServeHTTP(w, r)
	}))
}
