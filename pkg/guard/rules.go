package guard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const (
	// probeAgain is how long the API server may take to follow a configuration.
	probeAgain = 20 * time.Millisecond
	// trimAfter is how long a rule outlives the last held object of its kind at most.
	trimAfter = 5 * time.Second
)

// ConfigurationKind is the kind whose objects say which webhooks are asked.
var ConfigurationKind = schema.GroupKind{
	Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration",
}

// Rules keeps the rules of a validating webhook at exactly the kinds that are
// held, so that no other kind ever depends on it, and confirms that the API
// server really asks before it deletes an object: it tries a deletion without
// effect (a dry run) and expects to be refused.
type Rules struct {
	// Client reads and writes the webhook configuration, without a cache.
	Client client.Client
	// Configuration is the name of the webhook configuration. Empty when a policy
	// in the API server refuses instead: then there are no rules to keep.
	Configuration string
	// Refuser is the name that refusals come under: the webhook's or the policy's.
	Refuser string
	// Evictions is the name of the webhook to ask about evictions of Pods, which are
	// deletions that no deletion rule catches. Empty if there is none.
	Evictions string
	// Held are the edges whose targets are held.
	Held     *relation.Index
	Watcher  *relation.Watcher
	Metadata metadata.Interface
	Log      logr.Logger

	mu        sync.Mutex
	kept      string // what the rules were last made from
	confirmed map[schema.GroupKind]bool
	wake      chan struct{}
	once      sync.Once
}

// Confirm is done when the API server is known to ask before it deletes objects
// of this object's kind. The object must carry the lock.
func (r *Rules) Confirm(ctx context.Context, obj relation.Object) reconcile.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	gk := obj.ID.GroupKind()
	if r.confirmed[gk] {
		return reconcile.Outcome{}
	}
	if err := r.keepAgain(ctx, false); err != nil {
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, err)
	}
	err := r.probe(ctx, obj)
	switch {
	case err == nil:
		return reconcile.WaitFor(probeAgain, sharedv1alpha1.ReasonLocking,
			"waiting for the API server to ask before it deletes %s objects", gk)
	case strings.Contains(err.Error(), r.Refuser):
		if r.confirmed == nil {
			r.confirmed = map[schema.GroupKind]bool{}
		}
		r.confirmed[gk] = true
		return reconcile.Outcome{}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return reconcile.Progress(sharedv1alpha1.ReasonLocking, "%s has just changed", obj.ID)
	default:
		return reconcile.Fail(sharedv1alpha1.ReasonFailed, fmt.Errorf("try whether %s is protected: %w", obj.ID, err))
	}
}

// Confirmed reports whether Confirm was done for the kind of an object.
func (r *Rules) Confirmed(obj relation.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.confirmed[obj.ID.GroupKind()]
}

func (r *Rules) probe(ctx context.Context, obj relation.Object) error {
	mapping, err := r.Watcher.Mapping(obj.ID.GroupKind().WithVersion(""))
	if err != nil {
		return err
	}
	return r.Metadata.Resource(mapping.Resource).Namespace(obj.ID.Namespace).Delete(ctx, obj.ID.Name,
		metav1.DeleteOptions{
			DryRun:        []string{metav1.DryRunAll},
			Preconditions: &metav1.Preconditions{UID: &obj.UID},
		})
}

// Changed tells that the configuration or the kinds held may have changed.
func (r *Rules) Changed() {
	select {
	case r.wakeups() <- struct{}{}:
	default: // It is awake already.
	}
}

// ObjectChanged is Changed, for the configuration's own changes.
func (r *Rules) ObjectChanged(c relation.Change) {
	if id := c.Object().ID; id.GroupKind() == ConfigurationKind && id.Name == r.Configuration {
		r.mu.Lock()
		r.kept = ""
		r.mu.Unlock()
		r.Changed()
	}
}

func (r *Rules) wakeups() chan struct{} {
	r.once.Do(func() { r.wake = make(chan struct{}, 1) })
	return r.wake
}

// Start keeps the rules until the context ends.
func (r *Rules) Start(ctx context.Context) error {
	if r.Configuration == "" {
		return nil
	}
	r.Watcher.Use(object.ID{Kind: "Rules", Name: r.Configuration}, ConfigurationKind)
	trim := time.NewTimer(trimAfter)
	defer trim.Stop()
	pending := true // Changes that never cease must not put it off for ever.
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-r.wakeups():
			err = r.locked(ctx, false)
			if !pending {
				trim.Reset(trimAfter)
				pending = true
			}
		case <-trim.C:
			err = r.locked(ctx, true)
			pending = false
		}
		if err != nil && ctx.Err() == nil {
			r.Log.Error(err, "Webhook rules may be out of date")
			trim.Reset(trimAfter)
			pending = true
		}
	}
}

func (r *Rules) locked(ctx context.Context, trim bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.keepAgain(ctx, trim)
}

// keepAgain is keep, in spite of those who write the same object: whoever renews
// the certificates that it trusts.
func (r *Rules) keepAgain(ctx context.Context, trim bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return r.keep(ctx, trim) })
}

// keep writes the rules if they differ. Kinds whose rule was missing have to be
// confirmed anew.
func (r *Rules) keep(ctx context.Context, trim bool) error {
	kinds := r.Held.TargetKinds()
	namespaces := r.evictable(kinds)
	held := fmt.Sprint(kinds, namespaces)
	if r.Configuration == "" || (r.kept == held && !trim) {
		return nil
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Configuration}, &configuration); err != nil {
		return fmt.Errorf("read webhook configuration: %w", err)
	}
	before := configuration.DeepCopy()
	deletions, evictions := find(&configuration, r.Refuser), find(&configuration, r.Evictions)
	if deletions == nil {
		return fmt.Errorf("webhook configuration %s has no webhook %s: run with --install", r.Configuration, r.Refuser)
	}
	changed := r.keepDeletions(deletions, kinds, trim)
	if evictions != nil {
		changed = keepEvictions(evictions, namespaces) || changed
	}
	if !changed {
		r.kept = held
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, &configuration, patch); err != nil {
		return fmt.Errorf("write webhook rules: %w", err)
	}
	r.kept = held
	return nil
}

func find(
	c *admissionregistrationv1.ValidatingWebhookConfiguration, name string,
) *admissionregistrationv1.ValidatingWebhook {
	for i := range c.Webhooks {
		if c.Webhooks[i].Name == name {
			return &c.Webhooks[i]
		}
	}
	return nil
}

func (r *Rules) keepDeletions(
	webhook *admissionregistrationv1.ValidatingWebhook, kinds []schema.GroupKind, trim bool,
) (changed bool) {
	have := resources(webhook.Rules)
	want := r.resourcesOf(kinds, have)
	if trim {
		maps.DeleteFunc(r.confirmed, func(gk schema.GroupKind, _ bool) bool { return !slices.Contains(kinds, gk) })
	} else {
		want = union(want, have)
	}
	if slices.Equal(have, want) && len(have) == len(webhook.Rules) {
		return false
	}
	webhook.Rules = rulesFor(want)
	return true
}

// resourcesOf returns the resources of kinds, and forgets what was confirmed of
// those that have no rule.
func (r *Rules) resourcesOf(kinds []schema.GroupKind, have []schema.GroupResource) []schema.GroupResource {
	var want []schema.GroupResource
	for _, gk := range kinds {
		mapping, err := r.Watcher.Mapping(gk.WithVersion(""))
		if err != nil {
			delete(r.confirmed, gk)
			continue // Nothing of a kind that is not served can be deleted.
		}
		if !slices.Contains(have, mapping.Resource.GroupResource()) {
			delete(r.confirmed, gk)
		}
		want = append(want, mapping.Resource.GroupResource())
	}
	return union(want, nil)
}

// podKind is the kind whose objects can be evicted.
var podKind = schema.GroupKind{Kind: "Pod"}

// evictable returns the namespaces with held Pods. An empty one stands for all.
func (r *Rules) evictable(kinds []schema.GroupKind) []string {
	if !slices.Contains(kinds, podKind) {
		return nil
	}
	var namespaces []string
	for _, pod := range r.Held.Targets(podKind) {
		namespaces = append(namespaces, pod.Namespace)
	}
	slices.Sort(namespaces)
	return slices.Compact(namespaces)
}

// keepEvictions has evictions asked about in exactly the namespaces with held
// Pods. The object of such a request is not the Pod, so its label can't decide.
func keepEvictions(webhook *admissionregistrationv1.ValidatingWebhook, namespaces []string) (changed bool) {
	var rules []admissionregistrationv1.RuleWithOperations
	selector := &metav1.LabelSelector{}
	if len(namespaces) > 0 {
		rules = rulesFor([]schema.GroupResource{{Resource: "pods/eviction"}})
		rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	}
	if len(namespaces) > 0 && namespaces[0] != "" {
		selector.MatchExpressions = []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces,
		}}
	}
	if len(rules) == len(webhook.Rules) && equality.Semantic.DeepEqual(selector, webhook.NamespaceSelector) {
		return false
	}
	webhook.Rules, webhook.NamespaceSelector = rules, selector
	return true
}

func union(a, b []schema.GroupResource) []schema.GroupResource {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y schema.GroupResource) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(all)
}

// rulesFor returns one rule for each resource, in order.
func rulesFor(resources []schema.GroupResource) []admissionregistrationv1.RuleWithOperations {
	all := admissionregistrationv1.AllScopes
	rules := make([]admissionregistrationv1.RuleWithOperations, 0, len(resources))
	for _, gr := range resources {
		rules = append(rules, admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{gr.Group}, APIVersions: []string{"*"}, Resources: []string{gr.Resource}, Scope: &all,
			},
		})
	}
	return rules
}

// resources returns the resources that rules are about, in order. Rules of
// another shape are somebody else's and yield none.
func resources(rules []admissionregistrationv1.RuleWithOperations) []schema.GroupResource {
	var found []schema.GroupResource
	for _, rule := range rules {
		if len(rule.APIGroups) == 1 && len(rule.Resources) == 1 {
			found = append(found, schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]})
		}
	}
	return union(found, nil)
}
