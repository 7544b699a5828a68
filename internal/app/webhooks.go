package app

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kinship-dev/kinship/internal/certificate"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// hook is a webhook of a configuration and how the API server reaches it.
type hook struct {
	name   string
	config *admissionregistrationv1.WebhookClientConfig
}

// webhooksOf returns the webhooks of a configuration in their order, or nil for other
// objects.
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

// setPath changes the path that a webhook is called by.
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

// Field owners of what the truster writes into webhook configurations. The rules of the
// same webhooks have another owner, [guard.Rules].
const (
	trustOwner = client.FieldOwner("kinship-webhook-trust")
	pathOwner  = client.FieldOwner("kinship-webhook-path")
)

// truster keeps the CAs to trust and the secret paths in the packs' webhook configurations.
// A GitOps tool that applies such a configuration knows neither, and may remove both: the
// truster then writes both again. It runs in every replica, and writes nothing where nothing
// changed.
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
		if err := t.trust(ctx, bundle); err != nil && ctx.Err() == nil {
			t.log.Error(err, "Webhook configurations may trust the wrong certificate")
		}
	}
}

// trust writes the CAs to trust, and the paths, into every webhook configuration.
func (t *truster) trust(ctx context.Context, bundle certificate.Bundle) error {
	failed := make([]error, 0, len(t.names))
	for _, template := range t.names {
		failed = append(failed, trustOne(ctx, t.client, template, bundle))
	}
	return errors.Join(failed...)
}

// trustOne corrects one webhook configuration. The CAs are applied: trustOwner owns the
// caBundle of each webhook, so neither the operator's other writers nor a GitOps tool that
// applies conflict. The path is a part of url or service, which the installation owns, so the
// path is patched, and only where it is wrong.
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

// hide appends the secret part to the paths that the template names. Webhooks that others
// added to the configuration keep their paths.
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

// hidden is a server that answers only requests for a secret path. Only the API server
// knows the path, and presents no other proof of its identity. Without the secret path, any
// client that reaches the server could have a deletion recorded that no user requested.
type hidden struct {
	webhook.Server
	// current returns the certificate with the secret path, as certificate.Manager.Current does.
	current func() (certificate.Bundle, bool)
	// failures counts the answers.
	failures *failures
}

// Register implements webhook.Server.
func (h hidden) Register(path string, hook http.Handler) {
	hook = h.failures.counted(path, hook)
	h.Server.Register(path+"/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		bundle, ok := h.current()
		told := strings.ToLower(strings.TrimPrefix(r.URL.Path, path+"/")) // A configuration may be of an earlier release.
		if !ok || subtle.ConstantTimeCompare([]byte(told), []byte(bundle.Path)) != 1 {
			http.NotFound(w, r)
			return
		}
		if r.Method == http.MethodHead { // The operator asks whether its webhooks are reached (answering).
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answerInFull(hook).ServeHTTP(w, r)
	}))
}

// answerInFull lets a handler finish a request that the server has accepted before SIGTERM. The
// server waits for the handler, but cancels the request's context at once: a validator would
// refuse an IotConnector because its SubjectAccessReview was canceled.
func answerInFull(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), answerTime(r))
		defer cancel()
		hook.ServeHTTP(w, r.WithContext(ctx))
	})
}

// longestAnswer is what a handler may take if the API server does not say how long it waits.
const longestAnswer = 10 * time.Second

// answerTime returns how long a handler may take. The API server sends the timeoutSeconds of the
// webhook: ?timeout=3s. A handler gets an eighth less, so that its answer arrives in time: a handler
// that went on would record a deletion of which the API server has said that the webhook failed.
func answerTime(r *http.Request) time.Duration {
	timeout, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || timeout <= 0 || timeout > longestAnswer {
		timeout = longestAnswer
	}
	return timeout - timeout/8
}
