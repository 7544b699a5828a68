package guard_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	admissionregistrationv1ac "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	"k8s.io/client-go/metadata"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

const (
	refuser = "refuse.test.kinship.dev"
	foreign = "foreign.test.kinship.dev"
)

// kept is a webhook configuration and the Rules that keep its rules. No server listens at the
// webhook's address: the API server refuses a deletion if it can't call the webhook, which
// shows that it tried.
type kept struct {
	*guard.Rules

	client client.Client
	name   string
	obj    relation.Object // of ConfigMap, with the lock
	tries  *counter        // of deletions
}

// holder declares the held kinds.
var holder = object.ID{Kind: "Test", Name: "holder"}

// keepRules creates a configuration and the Rules for it. The test calls Start.
func keepRules(t *testing.T, label string, on ...func(*relation.Watcher)) *kept {
	t.Helper()
	k := &kept{client: testenv.Client(t, nil), name: label + "." + refuser}
	url, seconds := "https://127.0.0.1:1/", int32(1)
	fail, none := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone
	webhook := admissionregistrationv1.ValidatingWebhook{
		Name: foreign, ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url}, FailurePolicy: &fail,
		SideEffects: &none, TimeoutSeconds: &seconds, AdmissionReviewVersions: []string{"v1"},
		ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "foreign"}},
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"*"},
			},
		}},
	}
	own := *webhook.DeepCopy()
	own.Name, own.Rules = refuser, nil
	own.ObjectSelector.MatchLabels[label] = "true"
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: k.name}, Webhooks: []admissionregistrationv1.ValidatingWebhook{webhook, own},
	}
	if err := k.client.Create(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: testenv.Namespace(t), Name: "m", Labels: map[string]string{label: "true"},
	}}
	t.Cleanup(func() { // Before the deletion of the namespace, which would wait for the webhook.
		ctx := context.WithoutCancel(t.Context())
		if err := k.client.Delete(ctx, configuration); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	if err := k.client.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	k.obj = relation.ObjectOf(configMap, m)
	k.Rules = &guard.Rules{
		Client: k.client, Configuration: k.name, FieldOwner: "rules", Refuser: refuser, Held: &relation.Index{},
		Log: logr.Discard(),
	}
	k.Metadata, k.tries = metadataClient(t)
	k.Watcher, _ = startWatcher(t, slices.Concat([]func(*relation.Watcher){
		func(w *relation.Watcher) { w.OnObject(k.ObjectChanged) },
	}, on)...)
	return k
}

// hold says of which kinds objects are held from now on.
func (k *kept) hold(kinds ...schema.GroupKind) {
	k.declare(kinds...)
	k.Changed()
}

// declare is hold before anybody has looked.
func (k *kept) declare(kinds ...schema.GroupKind) {
	edges := make([]relation.Edge, 0, len(kinds))
	for _, gk := range kinds {
		id := object.ID{Group: gk.Group, Kind: gk.Kind, Namespace: k.obj.ID.Namespace, Name: "held"}
		edges = append(edges, relation.Edge{Declarer: holder, Target: relation.Named(id)})
	}
	k.Held.Set(holder, edges)
}

// start keeps the rules until the end of the test.
func (k *kept) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan error, 1)
	go func() { returned <- k.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-returned; err != nil {
			t.Error(err)
		}
	})
}

func (k *kept) read(t *testing.T) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Helper()
	c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := k.client.Get(t.Context(), client.ObjectKey{Name: k.name}, c); err != nil {
		t.Fatal(err)
	}
	return c
}

// awaitRules waits until the own webhook has exactly a rule for each resource.
func (k *kept) awaitRules(t *testing.T, want ...string) {
	t.Helper()
	all := admissionregistrationv1.AllScopes
	rules := make([]admissionregistrationv1.RuleWithOperations, len(want))
	for i, resource := range want {
		rules[i] = admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
			Rule: admissionregistrationv1.Rule{
				APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{resource}, Scope: &all,
			},
		}
	}
	testenv.Eventually(t, func() error {
		if diff := cmp.Diff(rules, k.read(t).Webhooks[1].Rules, cmpopts.EquateEmpty()); diff != "" {
			return fmt.Errorf("rules (-want +got):\n%s", diff)
		}
		return nil
	})
}

// confirm confirms until that is done.
func (k *kept) confirm(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, func() error {
		o := k.Confirm(t.Context(), k.obj)
		if o.IsDone() {
			return nil
		}
		if f := o.Worst(); f.State != reconcile.Waiting || f.Reason != sharedv1alpha1.ReasonLocking {
			t.Fatalf("%+v, want to be waiting for the API server", f)
		}
		return fmt.Errorf("%s", o.Message())
	})
}

// asked reports whether the API server calls the webhook before it deletes the object.
func (k *kept) asked(t *testing.T) bool {
	t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.obj.ID.Namespace, Name: k.obj.ID.Name}}
	err := k.client.Delete(t.Context(), m, client.DryRunAll)
	if err != nil && !strings.Contains(err.Error(), refuser) {
		t.Fatal(err)
	}
	return err != nil
}

// TestRulesFollowTheKindsHeld is the life of the rules: for the held kinds, one more kind, one
// kind less after a while, repaired, none.
func TestRulesFollowTheKindsHeld(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "follow")
	before := k.read(t).Webhooks[0]
	k.start(t)
	k.hold(configMap)
	k.awaitRules(t, "configmaps")
	k.hold(configMap, schema.GroupKind{Group: "no.such", Kind: "Thing"}, secret)
	k.awaitRules(t, "configmaps", "secrets")
	k.hold(secret)
	k.awaitRules(t, "secrets")

	c := k.read(t)
	c.Webhooks[1].Rules = nil
	if err := k.client.Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	k.awaitRules(t, "secrets") // The change itself wakes Start.
	k.hold()
	k.awaitRules(t)
	if diff := cmp.Diff(before, k.read(t).Webhooks[0]); diff != "" {
		t.Errorf("the foreign webhook has changed (-before +after):\n%s", diff)
	}
}

// TestRulesBesideAnotherOwner has another field owner apply the CAs to trust between two
// changes of the rules. Neither takes from the other.
func TestRulesBesideAnotherOwner(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "owner")
	k.start(t)
	k.hold(configMap)
	k.awaitRules(t, "configmaps")
	authority, _, err := certutil.GenerateSelfSignedCertKey("refuser", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	trust := admissionregistrationv1ac.ValidatingWebhookConfiguration(k.name).WithWebhooks(
		admissionregistrationv1ac.ValidatingWebhook().WithName(refuser).WithClientConfig(
			admissionregistrationv1ac.WebhookClientConfig().WithCABundle(authority...)))
	if err := k.client.Apply(t.Context(), trust, client.FieldOwner("trust")); err != nil {
		t.Fatal(err)
	}
	k.hold(configMap, secret)
	k.awaitRules(t, "configmaps", "secrets")
	k.hold()
	k.awaitRules(t)
	c := k.read(t)
	if !bytes.Equal(c.Webhooks[1].ClientConfig.CABundle, authority) {
		t.Error("the rules take the CAs away")
	}
	for _, m := range c.ManagedFields {
		if m.Manager == "rules" && strings.Contains(m.FieldsV1.GetRawString(), "clientConfig") {
			t.Errorf("the owner of the rules owns %s", m.FieldsV1.GetRawString())
		}
	}
}

// TestRulesOutliveTheirKind: a rule is not dropped at once, because a kind often gets a new
// user a moment after its last user is gone.
func TestRulesOutliveTheirKind(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "outlive")
	k.declare(configMap)
	k.confirm(t)
	k.declare(secret)
	k.Confirm(t.Context(), relation.Object{ID: object.ID{ // Reads the held kinds.
		Kind: secret.Kind, Namespace: k.obj.ID.Namespace, Name: "none",
	}})
	k.awaitRules(t, "configmaps", "secrets") // No trim has happened yet.

	k.declare(configMap, secret)
	k.start(t)
	version := k.read(t).ResourceVersion
	for range 10 {
		k.hold()
		k.hold(secret)
		k.hold(configMap, secret)
	}
	k.confirm(t)
	if got := k.read(t).ResourceVersion; got != version {
		t.Error("kinds that come and go cost a write each")
	}
}

// TestConfirm shows that done means that the API server really asks.
func TestConfirm(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "confirm")
	if k.asked(t) || k.Confirmed(k.obj) {
		t.Fatal("the API server asks before there is a rule")
	}
	k.hold(configMap)
	k.confirm(t)
	if !k.asked(t) {
		t.Error("confirmed, but the API server does not ask")
	}
	if !k.Confirmed(k.obj) {
		t.Error("Confirmed does not know what Confirm found out")
	}
	k.awaitRules(t, "configmaps")
	before := k.tries.sent.Load()
	for range 10 {
		k.confirm(t)
	}
	if n := k.tries.since(before); n > 0 {
		t.Errorf("%d attempts to delete for what is known already", n)
	}
}

func TestConfirmOfWhatHasChanged(t *testing.T) {
	k := keepRules(t, "changed")
	k.hold(configMap)
	cases := map[string]func(*relation.Object){
		"gone":                                  func(o *relation.Object) { o.ID.Name = "none" },
		"gone, and has the name of who refuses": func(o *relation.Object) { o.ID.Name = refuser },
		"recreated":                             func(o *relation.Object) { o.UID = "another" },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			obj := k.obj
			change(&obj)
			f := k.Confirm(t.Context(), obj).Worst()
			want := reconcile.Finding{
				State: reconcile.Progressing, Reason: sharedv1alpha1.ReasonLocking, Message: obj.ID.String() + " has just changed",
			}
			if diff := cmp.Diff(want, f); diff != "" || k.Confirmed(k.obj) {
				t.Errorf("confirmed %t (-want +got):\n%s", k.Confirmed(k.obj), diff)
			}
		})
	}
}

// TestConfirmBesideASlowKind delays the answer to the trial of one kind. Other kinds do not
// wait for this trial, and the kind is not tried twice.
func TestConfirmBesideASlowKind(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "slow")
	arrived, let := make(chan struct{}, 10), make(chan struct{})
	k.Metadata = slowly(t, "/secrets/", arrived, let)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: k.obj.ID.Namespace, Name: "s", Labels: map[string]string{"slow": "true"},
	}}
	if err := k.client.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	k.hold(configMap, secret)
	slow := relation.ObjectOf(secret, s)
	first := make(chan reconcile.Outcome, 1)
	go func() { first <- k.Confirm(t.Context(), slow) }()
	<-arrived

	confirmed := make(chan struct{})
	go func() {
		defer close(confirmed)
		k.confirm(t)
	}()
	select {
	case <-confirmed:
	case <-time.After(20 * time.Second):
		t.Error("a kind waits for the trial of another one")
		close(let)
		<-confirmed
		return
	}
	for range 3 {
		if f := k.Confirm(t.Context(), slow).Worst(); f.State != reconcile.Waiting {
			t.Errorf("%+v while the trial is under way, want to wait", f)
		}
	}
	if n := len(arrived); n > 0 {
		t.Errorf("%d more trials of a kind that is being tried", n)
	}
	close(let)
	<-first
	testenv.Eventually(t, func() error {
		if o := k.Confirm(t.Context(), slow); !o.IsDone() {
			return fmt.Errorf("%s", o.Message())
		}
		return nil
	})
}

// TestConfirmVoid changes the configuration during a trial: the result of the trial is not
// valid.
func TestConfirmVoid(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "void")
	k.hold(configMap)
	k.confirm(t)
	arrived, let := make(chan struct{}, 10), make(chan struct{})
	again := &guard.Rules{
		Client: k.client, Configuration: k.name, FieldOwner: "rules", Refuser: refuser, Held: k.Held, Log: logr.Discard(),
		Watcher: k.Watcher, Metadata: slowly(t, "/configmaps/", arrived, let),
	}
	first := make(chan reconcile.Outcome, 1)
	go func() { first <- again.Confirm(t.Context(), k.obj) }()
	<-arrived
	id := object.ID{Group: guard.ConfigurationKind.Group, Kind: guard.ConfigurationKind.Kind, Name: k.name}
	again.ObjectChanged(relation.Change{New: &relation.Object{ID: id}})
	close(let)
	if o := <-first; o.IsDone() || again.Confirmed(k.obj) {
		t.Error("confirmed by what was so before the change")
	}
}

// TestRulesStopNoInformer delays the answers about the webhook configuration. Informers and
// callers of Confirmed do not wait for these answers.
func TestRulesStopNoInformer(t *testing.T) {
	t.Parallel()
	heard := make(chan struct{})
	tell := sync.OnceFunc(func() { close(heard) })
	k := keepRules(t, "informer", func(w *relation.Watcher) {
		w.OnObject(func(c relation.Change) { // Is told after the rules are.
			if c.Object().ID.GroupKind() == guard.ConfigurationKind {
				tell()
			}
		})
	})
	arrived, let := make(chan struct{}, 10), make(chan struct{})
	config := testenv.Config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/"+k.name) {
				arrived <- struct{}{}
				<-let
			}
			return next.RoundTrip(r)
		})
	})
	slow, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k.Client = slow
	k.declare(configMap)
	confirming := make(chan struct{})
	go func() {
		defer close(confirming)
		k.Confirm(t.Context(), k.obj)
	}()
	<-arrived
	k.Watcher.Use(object.ID{Kind: "Rules", Name: "informer"}, guard.ConfigurationKind)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		<-heard
		k.Confirmed(k.obj)
	}()
	select {
	case <-asked:
	case <-time.After(20 * time.Second):
		t.Error("an informer waits for the answer of the API server to somebody else's request")
	}
	close(let)
	<-asked
	<-confirming
	k.confirm(t) // The change during the write is not lost.
	if !k.asked(t) {
		t.Error("confirmed, but the API server does not ask")
	}
}

// slowly returns a client whose deletions of matching paths wait until they are released.
func slowly(t *testing.T, path string, arrived chan<- struct{}, let <-chan struct{}) metadata.Interface {
	t.Helper()
	config := testenv.Config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, path) {
				arrived <- struct{}{}
				<-let
			}
			return next.RoundTrip(r)
		})
	})
	c, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestConfirmWithoutAnInstallation(t *testing.T) {
	k := keepRules(t, "install")
	k.hold(configMap)
	cases := map[string]struct {
		reason, configuration, refuser string
		want                           []string
	}{
		"no configuration": {
			"it names what is missing", "none." + refuser, refuser,
			[]string{"read webhook configuration", `"none.` + refuser + `" not found`},
		},
		"no webhook": {
			"it says what to do", k.name, "other",
			[]string{"webhook configuration " + k.name + " has no webhook other: run with --install"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k.Configuration, k.Refuser = c.configuration, c.refuser
			o := k.Confirm(t.Context(), k.obj)
			for _, want := range c.want {
				if o.Worst().State != reconcile.Failed || !strings.Contains(o.Message(), want) {
					t.Errorf("%s: %+v, want %q", c.reason, o.Worst(), want)
				}
			}
		})
	}
}

// TestRulesOfAPolicy shows that there is nothing to keep when a policy refuses,
// and that Confirm still tries.
func TestRulesOfAPolicy(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "policy")
	k.Configuration = ""
	k.hold(configMap)
	if err := k.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := k.Confirm(t.Context(), k.obj)
	if result, err := o.Result(); o.Worst().State != reconcile.Waiting || result.RequeueAfter <= 0 || err != nil {
		t.Errorf("%+v, %+v, error %v; want to wait for a moment: no watch tells of policies", o.Worst(), result, err)
	}
	if k.asked(t) || k.Confirmed(k.obj) { // asked fails if the object is gone.
		t.Error("nobody refuses, and it counts as confirmed")
	}
	k.awaitRules(t)
}

func TestConfirmAfterTheRuleWasTrimmed(t *testing.T) {
	t.Parallel()
	k := keepRules(t, "trimmed")
	k.start(t)
	k.hold(configMap)
	k.confirm(t)
	k.hold()
	k.awaitRules(t)
	testenv.Eventually(t, func() error {
		if k.asked(t) {
			return fmt.Errorf("the API server still asks")
		}
		return nil
	})
	k.declare(configMap) // Held again, and not yet looked at.
	if k.Confirm(t.Context(), k.obj).IsDone() && !k.asked(t) {
		t.Error("confirmed, but the API server does not ask")
	}
}
