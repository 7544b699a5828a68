package guard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const (
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
	// FieldOwner is the field manager that owns the rules in the webhook configuration, and
	// nothing else in it.
	FieldOwner string
	// Refuser is the name that refusals come under: the webhook's or the policy's.
	Refuser string
	// Evictions is the name of the webhook to ask about evictions of Pods, which are
	// deletions that no deletion rule catches. Empty if there is none.
	Evictions string
	// Held are the edges whose targets are held.
	Held     *relation.Index
	Watcher  *relation.Watcher
	Metadata metadata.Interface
	// Enforcer is what has the API server refuse, apart from the rules. It may be nil.
	Enforcer Enforcer
	// Lost is called when kinds have to be confirmed anew that were before, and when
	// they can be again. It must not block, nor call back. It may be nil.
	Lost func()
	Log  logr.Logger

	// keeping is held while the rules are read and written. Informers never wait for it.
	keeping sync.Mutex

	mu        sync.Mutex // never held over a request
	changes   int        // counts the changes of what has the API server refuse
	judged    bool       // fault is what the Enforcer said since the last change
	fault     error      // why the API server may not refuse
	kept      string     // what the rules were last made from
	confirmed map[scope]bool
	trials    map[scope]*trial // under way
	wake      chan struct{}
	once      sync.Once
}

// Changed tells that the configuration or the kinds held may have changed.
func (r *Rules) Changed() {
	select {
	case r.wakeups() <- struct{}{}:
	default: // It is awake already.
	}
}

// ObjectChanged is Changed, for the changes of what has the API server refuse.
func (r *Rules) ObjectChanged(c relation.Change) {
	if id := c.Object().ID; id.Group != ConfigurationKind.Group || !slices.Contains(r.watched(), id) {
		return
	}
	r.mu.Lock()
	r.changes++
	r.kept, r.judged = "", false
	r.void(func(scope) bool { return true })
	r.mu.Unlock()
	r.Changed()
}

// watched are the objects that have the API server refuse.
func (r *Rules) watched() []object.ID {
	var ids []object.ID
	if r.Configuration != "" {
		ids = append(ids, object.ID{Group: ConfigurationKind.Group, Kind: ConfigurationKind.Kind, Name: r.Configuration})
	}
	if r.Enforcer != nil {
		ids = append(ids, r.Enforcer.Objects()...)
	}
	return ids
}

func (r *Rules) wakeups() chan struct{} {
	r.once.Do(func() { r.wake = make(chan struct{}, 1) })
	return r.wake
}

// Start keeps the rules until the context ends.
func (r *Rules) Start(ctx context.Context) error {
	if len(r.watched()) == 0 {
		return nil
	}
	var kinds []schema.GroupKind
	for _, id := range r.watched() {
		if !slices.Contains(kinds, id.GroupKind()) {
			kinds = append(kinds, id.GroupKind())
		}
	}
	r.Watcher.Use(object.ID{Kind: "Rules", Name: r.Refuser}, kinds...)
	trim := time.NewTimer(trimAfter)
	defer trim.Stop()
	pending := true // Changes that never cease must not put it off for ever.
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-r.wakeups():
			err = r.keep(ctx, false)
			if !pending {
				trim.Reset(trimAfter)
				pending = true
			}
		case <-trim.C:
			err = r.keep(ctx, true)
			pending = false
		}
		_, told := errors.AsType[*Fault](err)
		if err != nil && ctx.Err() == nil && !told {
			r.Log.Error(err, "Webhook rules may be out of date")
			trim.Reset(trimAfter)
			pending = true
		}
	}
}

// keep writes the rules if they differ. Kinds whose rule was missing have to be
// confirmed anew.
func (r *Rules) keep(ctx context.Context, trim bool) error {
	r.keeping.Lock()
	defer r.keeping.Unlock()
	kinds := r.Held.TargetKinds()
	namespaces := r.evictable(kinds)
	held := fmt.Sprint(kinds, namespaces)
	if err := r.enforce(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	kept, changes := r.kept, r.changes
	r.mu.Unlock()
	if r.Configuration == "" || (kept == held && !trim) {
		return nil
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := r.Client.Get(ctx, client.ObjectKey{Name: r.Configuration}, &configuration); err != nil {
		return fmt.Errorf("read webhook configuration: %w", err)
	}
	changed, err := r.correct(&configuration, kinds, namespaces, trim)
	if err != nil {
		return err
	}
	if changed {
		if err := r.apply(ctx, &configuration); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes == changes { // Else the configuration may be another one by now.
		r.kept = held
	}
	return nil
}

// apply applies the rules of a configuration, and the namespaces in which evictions are asked
// about. The caBundle of the same webhooks belongs to another field owner, so the writers of
// the rules and of the certificates never conflict.
func (r *Rules) apply(
	ctx context.Context, configuration *admissionregistrationv1.ValidatingWebhookConfiguration,
) error {
	type ownedFields struct {
		Name string `json:"name"`
		// Rules is sent even if there are none: an omitted list would stay with its other owners.
		Rules             []admissionregistrationv1.RuleWithOperations `json:"rules"`
		NamespaceSelector *metav1.LabelSelector                        `json:"namespaceSelector,omitempty"`
	}
	wanted := struct {
		Webhooks []ownedFields `json:"webhooks"`
	}{}
	for _, w := range configuration.Webhooks {
		owned := ownedFields{Name: w.Name, Rules: slices.Concat([]admissionregistrationv1.RuleWithOperations{}, w.Rules)}
		switch w.Name {
		case r.Refuser:
		case r.Evictions:
			owned.NamespaceSelector = w.NamespaceSelector
		default:
			continue
		}
		wanted.Webhooks = append(wanted.Webhooks, owned)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&wanted)
	if err != nil {
		return fmt.Errorf("encode webhook rules: %w", err)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(ConfigurationKind.Kind))
	u.SetName(configuration.Name)
	u.SetUID(configuration.UID) // Of another object of this name nothing was read.
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.FieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("write webhook rules: %w", err)
	}
	return nil
}

// correct writes the wanted rules into a configuration, and reports whether the rules were
// different.
func (r *Rules) correct(
	configuration *admissionregistrationv1.ValidatingWebhookConfiguration,
	kinds []schema.GroupKind, namespaces []string, trim bool,
) (changed bool, _ error) {
	deletions, evictions := find(configuration, r.Refuser), find(configuration, r.Evictions)
	if deletions == nil {
		return false, fmt.Errorf("webhook configuration %s has no webhook %s: run with --install",
			r.Configuration, r.Refuser)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = r.keepDeletions(deletions, kinds, trim)
	if evictions != nil {
		changed = r.keepEvictions(evictions, namespaces, trim) || changed
	}
	return changed, nil
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

// keepDeletions has deletions of the kinds held asked about. The lock mu must be held.
func (r *Rules) keepDeletions(
	webhook *admissionregistrationv1.ValidatingWebhook, kinds []schema.GroupKind, trim bool,
) (changed bool) {
	have := resources(webhook.Rules)
	want := r.resourcesOf(kinds, have)
	if trim {
		r.forget(func(s scope) bool { return !slices.Contains(kinds, s.GroupKind) })
		want = union(want, r.silent(have))
	} else {
		want = union(want, have)
	}
	if slices.Equal(have, want) && len(have) == len(webhook.Rules) {
		return false
	}
	webhook.Rules = rulesFor(want)
	return true
}

// silent returns those of some resources whose group does not answer: nobody knows
// which of them are held.
func (r *Rules) silent(resources []schema.GroupResource) []schema.GroupResource {
	return slices.DeleteFunc(slices.Clone(resources), func(gr schema.GroupResource) bool {
		return r.Watcher.Silence(gr.Group) == nil
	})
}

// resourcesOf returns the resources of kinds, and forgets what was confirmed of
// those that have no rule.
func (r *Rules) resourcesOf(kinds []schema.GroupKind, have []schema.GroupResource) []schema.GroupResource {
	var want []schema.GroupResource
	for _, gk := range kinds {
		same := func(s scope) bool { return s.GroupKind == gk }
		mapping, err := r.Watcher.Mapping(gk.WithVersion(""))
		if err != nil {
			r.forget(same)
			continue // Nothing of a kind that is not served can be deleted.
		}
		if !slices.Contains(have, mapping.Resource.GroupResource()) {
			r.void(same)
			if r.confirmed[scope{GroupKind: gk}] {
				r.lose()
			}
		}
		want = append(want, mapping.Resource.GroupResource())
	}
	return union(want, nil)
}

func union(a, b []schema.GroupResource) []schema.GroupResource {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y schema.GroupResource) int { return strings.Compare(x.String(), y.String()) })
	return slices.Compact(all)
}

// rulesFor returns one rule for each resource, in order.
func rulesFor(resources []schema.GroupResource) []admissionregistrationv1.RuleWithOperations {
	rules := make([]admissionregistrationv1.RuleWithOperations, 0, len(resources))
	for _, gr := range resources {
		rules = append(rules, ruleFor(gr))
	}
	return rules
}

func ruleFor(gr schema.GroupResource) admissionregistrationv1.RuleWithOperations {
	all := admissionregistrationv1.AllScopes
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{gr.Group}, APIVersions: []string{"*"}, Resources: []string{gr.Resource}, Scope: &all,
		},
	}
}

// resources returns the resources that rules are about, in order. Rules of
// another shape are somebody else's, or altered, and yield none.
func resources(rules []admissionregistrationv1.RuleWithOperations) []schema.GroupResource {
	var found []schema.GroupResource
	for _, rule := range rules {
		if len(rule.APIGroups) != 1 || len(rule.Resources) != 1 {
			continue
		}
		gr := schema.GroupResource{Group: rule.APIGroups[0], Resource: rule.Resources[0]}
		if equality.Semantic.DeepEqual(rule, ruleFor(gr)) {
			found = append(found, gr)
		}
	}
	return union(found, nil)
}
