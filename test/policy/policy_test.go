package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kinshipv1alpha1 "github.com/kinship-dev/kinship/api/kinship/v1alpha1"
	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	operator.Packs("usage")
	crds := testenv.GroupCRDs("../../config/crd", "apiextensions.crossplane.io", "protection.crossplane.io", "kinship.dev")
	testenv.Main(m, crds, testenv.WithoutPods(), testenv.CheckLeaks())
}

const (
	lock    = "crossplane.io/in-use"
	refusal = "The resource is in use or protected by a Usage: run kubectl kinship who-uses to see by which."
)

// TestPolicy has one operator for all subtests, which is stopped at the end.
func TestPolicy(t *testing.T) {
	o := operator.Start(t, func(o *options.Options) { o.Enforcement = pack.ByPolicy })
	t.Run("no webhooks", testNoWebhooks)
	t.Run("refused and released", testRefused)
	t.Run("label stripped", testStripped)
	t.Run("namespace refused", testNamespace)
	t.Run("other namespaces need a grant", testGrant)
	t.Run("cycle as condition", testCycle)
	t.Run("claims are not written", testClaims)
	t.Run("restored", testRestored)
	t.Run("without the operator", func(t *testing.T) { testWithout(t, o) })
}

// testClaims: users can't write fields that an operator with webhooks would trust, and the
// operator drops such fields from before the policy.
func testClaims(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	used, using := elsewhere.configMap("used"), w.configMap("using")
	u := w.uses("u", using, used)
	w.ready(u, metav1.ConditionFalse, "NotGranted")
	mark := `{"metadata": {"annotations": {"kinship.dev/authority": "author"}}}`
	record := `{"status": {"refused": [{"target": {"apiVersion": "v1", "kind": "ConfigMap", "name": "used", "uid": "x"},
  "user": "admin", "groups": ["system:masters"], "time": "2026-01-01T00:00:00Z"}]}}`
	for what, err := range map[string]error{
		"only Kinship sets annotation kinship.dev/authority": w.C.Patch(
			t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(mark))),
		"only Kinship may write": w.C.Status().Patch(
			t.Context(), u.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(record))),
	} {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), what) {
			t.Errorf("error %v, want %s", err, what)
		}
	}
	// As if the field were from before the policy, which allows the operator to write it.
	self := testenv.ClientFor(t, testenv.As(t, options.OperatorOf("usage")), w.C.Scheme())
	if err := self.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(mark))); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error {
		if err := w.C.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if _, claims := u.Annotations["kinship.dev/authority"]; claims {
			return errors.New("the mark is kept")
		}
		return nil
	})
	w.ready(u, metav1.ConditionFalse, "NotGranted")
	w.goes(u, using, used)
}

// world is a namespace, with the actions and views of a user.
type world struct{ testenv.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	return &world{testenv.NewWorld(t, operator.Client(t))}
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.T.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	if err := w.C.Create(w.T.Context(), cm); err != nil {
		w.T.Fatal(err)
	}
	return cm
}

// uses creates a Usage of one ConfigMap by another.
func (w *world) uses(name string, by, of *corev1.ConfigMap) *protectionv1beta1.Usage {
	w.T.Helper()
	u := w.usage(name, by, of)
	if err := w.C.Create(w.T.Context(), u); err != nil {
		w.T.Fatal(err)
	}
	return u
}

// usage returns a Usage of one ConfigMap by another.
func (w *world) usage(name string, by, of *corev1.ConfigMap) *protectionv1beta1.Usage {
	end := func(cm *corev1.ConfigMap) sharedv1alpha1.Resource {
		r := sharedv1alpha1.Resource{
			APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: cm.Name},
		}
		if cm.Namespace != w.NS {
			r.ResourceRef.Namespace = cm.Namespace
		}
		return r
	}
	u := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: name}}
	source := end(by)
	u.Spec.Of, u.Spec.By = end(of), &source
	return u
}

// ready waits until Ready has a status and a reason.
func (w *world) ready(u *protectionv1beta1.Usage, status metav1.ConditionStatus, reason string) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		if err := w.C.Get(w.T.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(u.Status.Conditions, "Ready"); c == nil || c.Status != status || c.Reason != reason {
			return fmt.Errorf("%s: Ready is %+v, want %s for %s", u.Name, c, status, reason)
		}
		return nil
	})
}

func (w *world) refused(obj client.Object) {
	w.T.Helper()
	err := w.C.Delete(w.T.Context(), obj)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), refusal) {
		w.T.Errorf("deletion of %s was answered with %v", obj.GetName(), err)
	}
}

// goes deletes objects and waits for the end of their deletion.
func (w *world) goes(objects ...client.Object) {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		var left []error
		for _, obj := range objects {
			if err := w.C.Delete(w.T.Context(), obj); !apierrors.IsNotFound(err) {
				left = append(left, fmt.Errorf("%s is there: %w", obj.GetName(), err))
			}
		}
		return errors.Join(left...)
	})
}

// testNoWebhooks: there are no webhook configurations.
func testNoWebhooks(t *testing.T) {
	w := newWorld(t)
	var validating admissionregistrationv1.ValidatingWebhookConfigurationList
	var mutating admissionregistrationv1.MutatingWebhookConfigurationList
	if err := errors.Join(w.C.List(t.Context(), &validating), w.C.List(t.Context(), &mutating)); err != nil {
		t.Fatal(err)
	}
	if n := len(validating.Items) + len(mutating.Items); n != 0 {
		t.Errorf("%d webhook configurations", n)
	}
}

// testRefused: 403 and a fixed text, and everything else as with the webhooks.
func testRefused(t *testing.T) {
	w := newWorld(t)
	used, using := w.configMap("used"), w.configMap("using")
	u := w.uses("u", using, used)
	w.ready(u, metav1.ConditionTrue, "Available")
	if got := u.Annotations["crossplane.io/usage-details"]; got != "ConfigMap/using uses ConfigMap/used" {
		t.Errorf("details are %q", got)
	}
	w.refused(used)
	if err := w.C.Delete(t.Context(), used, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("dry run was answered with %v", err)
	}
	if err := w.C.Delete(t.Context(), using); err != nil {
		t.Fatal(err)
	}
	w.goes(used, u)
}

// testStripped: the label can't be taken off.
func testStripped(t *testing.T) {
	w := newWorld(t)
	used := w.configMap("used")
	u := w.uses("u", w.configMap("using"), used)
	w.ready(u, metav1.ConditionTrue, "Available")
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:null}}}`, lock)
	if err := w.C.Patch(t.Context(), used, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Error(err)
	}
	if used.Labels[lock] != "true" {
		t.Errorf("labels are %v", used.Labels)
	}
	w.refused(used)
}

// testNamespace: a namespace with an object that is used from another namespace is locked too.
func testNamespace(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	used, using := elsewhere.configMap("used"), w.configMap("using")
	elsewhere.grants(w.NS)
	u := w.uses("u", using, used)
	w.ready(u, metav1.ConditionTrue, "Available")
	w.refused(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere.NS}})
	w.goes(using, u, used)
	elsewhere.unlocked()
}

// unlocked waits until the namespace can be deleted, a moment after its content.
func (w *world) unlocked() {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		var ns corev1.Namespace
		if err := w.C.Get(w.T.Context(), client.ObjectKey{Name: w.NS}, &ns); err != nil {
			return err
		}
		if ns.Labels[lock] != "" {
			return errors.New("the namespace is still locked")
		}
		return nil
	})
}

// grants allows Usages of another namespace to protect ConfigMaps of this namespace.
func (w *world) grants(from string) *kinshipv1alpha1.ReferenceGrant {
	w.T.Helper()
	g := &kinshipv1alpha1.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: w.NS, Name: "grant"}}
	g.Spec.From = []kinshipv1alpha1.ReferenceGrantFrom{{
		Group: protectionv1beta1.GroupVersion.Group, Kind: "Usage", Namespace: from,
	}}
	g.Spec.To = []kinshipv1alpha1.ReferenceGrantTo{{Kind: "ConfigMap"}}
	if err := w.C.Create(w.T.Context(), g); err != nil {
		w.T.Fatal(err)
	}
	return g
}

// testGrant: no admission handler checks the author's rights, so a ReferenceGrant is needed,
// for the whole time of the protection.
func testGrant(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	used, using := elsewhere.configMap("used"), w.configMap("using")
	u := w.uses("u", using, used)
	w.ready(u, metav1.ConditionFalse, "NotGranted")
	granted := elsewhere.grants(w.NS)
	w.ready(u, metav1.ConditionTrue, "Available")
	w.refused(used)
	if err := w.C.Delete(t.Context(), granted); err != nil {
		t.Fatal(err)
	}
	w.ready(u, metav1.ConditionFalse, "NotGranted")
	w.goes(used)
	elsewhere.unlocked()
}

// testCycle: a Usage that closes a ring is not refused, so its condition has the reason Cycle,
// and the deletion of the whole ring completes.
func testCycle(t *testing.T) {
	w := newWorld(t)
	a, b := w.configMap("a"), w.configMap("b")
	u1, u2 := w.uses("u1", a, b), w.uses("u2", b, a)
	w.ready(u1, metav1.ConditionFalse, "Cycle")
	w.ready(u2, metav1.ConditionFalse, "Cycle")
	w.goes(a, b, u1, u2)
}

// testWithout: the API server refuses on its own.
func testWithout(t *testing.T, o *operator.Operator) {
	t.Helper()
	w := newWorld(t)
	used, using := w.configMap("used"), w.configMap("using")
	u := w.uses("u", using, used)
	w.ready(u, metav1.ConditionTrue, "Available")
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	w.refused(used)
	operator.Start(t, func(o *options.Options) { o.Enforcement = pack.ByPolicy })
	w.refused(used)
	if err := w.C.Delete(t.Context(), using); err != nil {
		t.Fatal(err)
	}
	w.goes(used, u)
}
