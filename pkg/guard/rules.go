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
	"golang.org/x/sync/semaphore"
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
	// trimAfter is how long at most a RuleWithOperations outlives the last held object of its
	// kind.
	trimAfter = 5 * time.Second
)

// ConfigurationKind is the kind of the webhook configuration that Rules writes.
var ConfigurationKind = schema.GroupKind{
	Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration",
}

// Rules keeps the rules of a ValidatingWebhookConfiguration at exactly the kinds that are
// [relation.Held], so that deletions of other kinds never depend on the webhook.
// [Rules.Confirm] tries a DELETE with dryRun=All and expects a refusal: this proves that the
// API server calls the webhook.
type Rules struct {
	// Client reads and writes the ValidatingWebhookConfiguration, without a cache.
	Client client.Client
	// Configuration is the name of the ValidatingWebhookConfiguration. Configuration is empty
	// if a ValidatingAdmissionPolicy refuses instead: a policy has no rules to keep.
	Configuration string
	// FieldOwner is the field manager of the rules in the ValidatingWebhookConfiguration, and of no
	// other field there.
	FieldOwner string
	// Refuser is the name of the webhook or policy, which the API server puts into each
	// refusal.
	Refuser string
	// Evictions is the name of the webhook for evictions of Pods. An eviction deletes the Pod,
	// but is a CREATE of pods/eviction, which no rule for DELETE matches. Empty means that
	// there is no such webhook.
	Evictions string
	// Held are the edges ([relation.Edge]) whose targets are held.
	Held     *relation.Index
	Watcher  *relation.Watcher
	Metadata metadata.Interface
	// Enforcer manages the ValidatingWebhookConfiguration itself, or the policy. Enforcer may be nil.
	Enforcer Enforcer
	// Lost is called when confirmed scopes are no longer confirmed, and when a *Fault was
	// corrected. Lost must not block, and must not call [Rules]. Lost may be nil.
	Lost func()
	Log  logr.Logger

	// updating is held while updateRules reads and writes the rules. Informers never wait for
	// updating, and a caller whose ctx ends stops waiting.
	updating *semaphore.Weighted

	mu        sync.Mutex // never held during a request
	changes   int        // counts the changes of the watched objects
	judged    bool       // fault is the result of Enforcer.Check after the last change
	fault     error      // why the API server may not refuse
	kept      string     // kinds and namespaces that the rules were last made from
	confirmed map[scope]bool
	trials    map[scope]*trial // running trials
	wake      chan struct{}
	once      sync.Once
}

// Changed schedules updateRules: the ValidatingWebhookConfiguration or the held kinds may have changed.
func (r *Rules) Changed() {
	r.prepare()
	select {
	case r.wake <- struct{}{}:
	default: // A call of updateRules is pending already.
	}
}

// ObjectChanged calls [Rules.Changed] for a change of a watched object, and voids the running trials.
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

// watched returns the IDs of the ValidatingWebhookConfiguration and of the [Enforcer]'s objects.
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

// prepare makes Rules.wake and Rules.updating.
func (r *Rules) prepare() {
	r.once.Do(func() { r.wake, r.updating = make(chan struct{}, 1), semaphore.NewWeighted(1) })
}

// Start runs updateRules until ctx ends.
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
	r.prepare()
	trim := time.NewTimer(trimAfter)
	defer trim.Stop()
	pending := true // Changes that never cease must not put it off for ever.
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-r.wake:
			err = r.updateRules(ctx, false)
			if !pending {
				trim.Reset(trimAfter)
				pending = true
			}
		case <-trim.C:
			err = r.updateRules(ctx, true)
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

// updateRules writes the rules if they differ from the held kinds. A kind whose rule was
// missing must pass [Rules.Confirm] anew.
func (r *Rules) updateRules(ctx context.Context, trim bool) error {
	r.prepare()
	if err := r.updating.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("update webhook rules: %w", err)
	}
	defer r.updating.Release(1)
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
	if r.changes == changes { // Otherwise the configuration may have changed again.
		r.kept = held
	}
	return nil
}

// apply applies the rules of a ValidatingWebhookConfiguration, and the namespaceSelector of the webhook
// for evictions. The caBundle of the same webhooks has another field owner, so the writers of
// the rules and of the certificates never conflict.
func (r *Rules) apply(
	ctx context.Context, configuration *admissionregistrationv1.ValidatingWebhookConfiguration,
) error {
	type ownedFields struct {
		Name string `json:"name"`
		// Rules is sent even if empty: with server-side apply, an omitted list would stay with
		// its other field managers.
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
	u.SetUID(configuration.UID) // The UID keeps the apply from changing a new configuration of the same name.
	err = r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u),
		client.FieldOwner(r.FieldOwner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("write webhook rules: %w", err)
	}
	return nil
}

// correct sets the rules in a ValidatingWebhookConfiguration, and reports whether they were
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
	changed = r.updateDeletions(deletions, kinds, trim)
	if evictions != nil {
		changed = r.updateEvictions(evictions, namespaces, trim) || changed
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

// updateDeletions sets the rules for DELETE of the held kinds. The caller holds Rules.mu.
func (r *Rules) updateDeletions(
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

// silent returns the resources whose API group does not answer ([relation.Watcher.Silence]):
// such a resource may have held objects.
func (r *Rules) silent(resources []schema.GroupResource) []schema.GroupResource {
	return slices.DeleteFunc(slices.Clone(resources), func(gr schema.GroupResource) bool {
		return r.Watcher.Silence(gr.Group) == nil
	})
}

// resourcesOf returns the resources of kinds, and removes the kinds without a rule in have from
// Rules.confirmed.
func (r *Rules) resourcesOf(kinds []schema.GroupKind, have []schema.GroupResource) []schema.GroupResource {
	var want []schema.GroupResource
	for _, gk := range kinds {
		same := func(s scope) bool { return s.GroupKind == gk }
		mapping, err := r.Watcher.Mapping(gk.WithVersion(""))
		if err != nil {
			r.forget(same)
			continue // No object of a kind that is not served can be deleted.
		}
		if !slices.Contains(have, mapping.Resource.GroupResource()) {
			r.void(same)
			if r.confirmed[scope{GroupKind: gk}] {
				r.loseAll()
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

// resources returns the resources of rules, in order. A rule that differs from ruleFor was
// written by another client, and yields no resource.
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
