package install_test

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// meddling is a change of an object that makes the API server refuse. Nil deletes the object.
type meddling struct {
	by     pack.Enforcement
	obj    client.Object
	change func()
}

func meddlings() map[string]meddling {
	name := metav1.ObjectMeta{Name: "kinship-usage-refuse-deletion"}
	none := &metav1.LabelSelector{MatchLabels: map[string]string{"no": "such"}}
	never := []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
	webhook := func(change func(*admissionregistrationv1.ValidatingWebhook)) meddling {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		c.Name = "crossplane-no-usages"
		return meddling{pack.ByWebhook, c, func() { change(&c.Webhooks[0]) }}
	}
	policy := func(change func(*admissionregistrationv1.ValidatingAdmissionPolicySpec)) meddling {
		p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: name}
		return meddling{pack.ByPolicy, p, func() { change(&p.Spec) }}
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name}
	all := map[string]meddling{
		"webhook, failurePolicy": webhook(func(w *admissionregistrationv1.ValidatingWebhook) {
			w.FailurePolicy = new(admissionregistrationv1.Ignore)
		}),
		"webhook, objectSelector": webhook(func(w *admissionregistrationv1.ValidatingWebhook) {
			w.ObjectSelector = none
		}),
		"webhook, namespaceSelector": webhook(func(w *admissionregistrationv1.ValidatingWebhook) {
			w.NamespaceSelector = none
		}),
		"webhook, matchConditions": webhook(func(w *admissionregistrationv1.ValidatingWebhook) {
			w.MatchConditions = never
		}),
		"webhook, deleted": {pack.ByWebhook, webhook(nil).obj, nil},
		"policy, failurePolicy": policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			p.FailurePolicy = new(admissionregistrationv1.Ignore)
		}),
		"policy, matchConditions": policy(func(p *admissionregistrationv1.ValidatingAdmissionPolicySpec) {
			p.MatchConditions = never
		}),
		"policy, deleted": {pack.ByPolicy, policy(nil).obj, nil},
		"binding, actions": {pack.ByPolicy, binding, func() {
			binding.Spec.ValidationActions = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}
		}},
		"binding, deleted": {pack.ByPolicy, binding, nil},
	}
	return all
}

// protection is a Usage with its used object.
type protection struct {
	t        *testing.T
	c        client.Client
	precious client.Object
	usage    client.Object
}

func protect(t *testing.T) protection {
	t.Helper()
	objects := testenv.Apply(t, operator.Protected, testenv.In(testenv.Namespace(t)))
	k := protection{t, operator.Client(t), objects[0], objects[1]}
	k.refuses()
	return k
}

// refuses waits until deletions are refused and the Usage is Effective. The API server follows
// webhook configurations and policies by a watch: for a moment it may use the former ones.
func (k protection) refuses() {
	k.t.Helper()
	testenv.Eventually(k.t, func() error {
		if err := k.effective(metav1.ConditionTrue, ""); err != nil {
			return err
		}
		err := k.c.Delete(k.t.Context(), k.precious, client.DryRunAll)
		if !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("the Usage is in effect, and deletion was answered with %w", err)
		}
		return nil
	})
}

// effective returns nil when the conditions of the Usage are right.
func (k protection) effective(want metav1.ConditionStatus, reason string) error {
	var u protectionv1beta1.Usage
	if err := k.c.Get(k.t.Context(), client.ObjectKeyFromObject(k.usage), &u); err != nil {
		return err
	}
	for _, name := range []string{"Effective", "Ready"} {
		c := meta.FindStatusCondition(u.Status.Conditions, name)
		if c == nil || c.Status != want || (reason != "" && c.Reason != reason) {
			return fmt.Errorf("condition %s is %+v, want %s", name, c, want)
		}
		if reason != "" && !strings.Contains(c.Message, "--install") {
			k.t.Errorf("condition %s does not say what to do: %s", name, c.Message)
		}
	}
	return nil
}

// end lets everything go while the operator runs.
func (k protection) end() {
	k.t.Helper()
	if err := k.c.Delete(k.t.Context(), k.usage); err != nil {
		k.t.Error(err)
	}
	testenv.Eventually(k.t, func() error { return k.c.Delete(k.t.Context(), k.precious) })
	// Other tests compare the whole cluster with its former state, and the namespace would be
	// deleted meanwhile.
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.precious.GetNamespace()}}
	testenv.Eventually(k.t, func() error { // The namespace is unlocked a moment after its content.
		if err := k.c.Delete(k.t.Context(), ns); !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace %s is still there: %w", ns.Name, err)
		}
		return nil
	})
}

// do changes the object and returns its former state.
func (m meddling) do(t *testing.T, c client.Client) client.Object {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(m.obj), m.obj); err != nil {
		t.Fatal(err)
	}
	before := m.obj.DeepCopyObject().(client.Object)
	if m.change == nil {
		if err := c.Delete(t.Context(), m.obj); err != nil {
			t.Fatal(err)
		}
		return before
	}
	testenv.Eventually(t, func() error { // Other clients write it too.
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(m.obj), m.obj); err != nil {
			return err
		}
		m.change()
		return c.Update(t.Context(), m.obj)
	})
	return before
}

// edition returns UID and generation of an object, or "" if it does not exist.
func edition(t *testing.T, c client.Client, obj client.Object) string {
	t.Helper()
	live := obj.DeepCopyObject().(client.Object)
	err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), live)
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		t.Fatal(err)
	}
	return live.GetResourceVersion()
}

// meddled changes the objects that make the API server refuse in all ways, with both
// enforcements, while start's operator runs, and tests the effect of each change.
func meddled(
	t *testing.T, start func(enforced func(*options.Options)) *operator.Operator,
	test func(t *testing.T, k protection, m meddling, before client.Object),
) {
	t.Helper()
	for _, by := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		o := start(func(o *options.Options) { o.Enforcement = by })
		k := protect(t)
		for name, m := range meddlings() {
			if m.by != by {
				continue
			}
			t.Run(name, func(t *testing.T) {
				k.t = t
				test(t, k, m, m.do(t, k.c))
				k.refuses()
			})
		}
		k.t = t
		k.end()
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
	}
	removeAll(t)
}

// TestEnforcementLost: with an operator without --install, the Usages have the reason
// NotEnforced, with a message that says what to do, until the object is restored.
func TestEnforcementLost(t *testing.T) {
	installed := func(enforced func(*options.Options)) *operator.Operator {
		if err := operator.Start(t, enforced).Stop(); err != nil {
			t.Fatal(err)
		}
		return operator.Start(t, enforced, func(o *options.Options) { o.Install, o.Adopt = false, false })
	}
	meddled(t, installed, func(t *testing.T, k protection, _ meddling, before client.Object) {
		t.Helper()
		testenv.Eventually(t, func() error { return k.effective(metav1.ConditionFalse, "NotEnforced") })
		testenv.Eventually(t, func() error { return putBack(t, k.c, before) })
	})
}

// putBack restores an object.
func putBack(t *testing.T, c client.Client, obj client.Object) error {
	t.Helper()
	obj = obj.DeepCopyObject().(client.Object)
	obj.SetResourceVersion(edition(t, c, obj))
	if obj.GetResourceVersion() != "" {
		return c.Update(t.Context(), obj)
	}
	obj.SetUID("")
	return c.Create(t.Context(), obj)
}
