package usage_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

func (w *world) namespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.NS}}
}

// testNamespaceRefused: the deletion of a namespace is refused before any object inside is
// deleted, and the refusal names the protected objects.
func testNamespaceRefused(t *testing.T) {
	w := newWorld(t)
	var usages []usage
	var parts []string
	for i := range 12 {
		name := fmt.Sprintf("cm%02d", i)
		w.create(configMap(name))
		usages = append(usages, protects("u-"+name, named(name), "precious"))
		w.create(usages[i])
		if i < 10 {
			parts = append(parts, fmt.Sprintf("ConfigMap/%s (Usage u-%[1]s in namespace %s)", name, w.NS))
		}
	}
	w.ready(usages...)
	w.locked(w.namespace())
	want := "The resource holds 12 protected resource(s): " + strings.Join(parts, ", ") + ", and 2 more."
	if got := w.refused(w.namespace()); !strings.HasPrefix(got, want) {
		t.Errorf("refused with %q, want %q", got, want)
	}
	for _, u := range usages {
		w.Delete(u)
	}
	w.free(w.namespace())
}

// testNamespaceRefusedFromOutside: an object that is used from another namespace causes a
// refusal too, until it is no longer used.
func testNamespaceRefusedFromOutside(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	used, using := configMap("used"), configMap("using")
	w.create(used)
	elsewhere.create(using)
	u := uses("u", named("using"), in(w.NS, named("used")))
	elsewhere.create(u)
	elsewhere.ready(u)
	if got := w.refused(w.namespace()); !strings.HasPrefix(got,
		"The resource holds 1 protected resource(s): ConfigMap/used (Usage u in namespace "+elsewhere.NS) {
		t.Errorf("refused with %q", got)
	}
	elsewhere.Delete(using)
	testenv.EventuallyWithin(t, promptly, func() error { return w.C.Delete(t.Context(), w.namespace()) })
	w.Gone(w.namespace())
}

// testNamespaceEnds: if the protection ends inside, the namespace is deleted, each using object
// before its used object, whatever their names.
func testNamespaceEnds(t *testing.T) {
	plain := func(_ *world, u *protectionv1beta1.Usage) usage { return u }
	clusterWide := func(w *world, u *protectionv1beta1.Usage) usage {
		u.Name, u.Spec.Of = w.NS, in(w.NS, u.Spec.Of)
		u.Spec.By.ResourceRef.Namespace = w.NS
		return cluster(u)
	}
	cases := map[string]struct {
		reason, used, using string
		kind                func(*world, *protectionv1beta1.Usage) usage
	}{
		"in alphabetical order": {"the namespace controller meets the using object first", "z-used", "a-using", plain},
		"against it":            {"it meets the used object first and ends there", "a-used", "z-using", plain},
		"ClusterUsage":          {"and the Usage does not go with the namespace", "a-used", "z-using", clusterWide},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			used, using := configMap(c.used), configMap(c.using)
			using.Finalizers = []string{finalizer}
			w.create(used, using)
			u := c.kind(w, uses("u", named(c.using), named(c.used)))
			w.create(u)
			w.ready(u)
			w.Delete(w.namespace())
			testenv.Eventually(t, func() error {
				if err := w.Read(using); err != nil {
					return err
				}
				if using.DeletionTimestamp == nil {
					return fmt.Errorf("the using object is not being deleted")
				}
				return nil
			})
			w.awaitProcessedElsewhere()
			if err := w.Read(used); err != nil || used.DeletionTimestamp != nil {
				t.Errorf("%s: the used object goes first: %v", c.reason, err)
			}
			w.Update(using, func() { using.Finalizers = nil })
			w.Gone(w.namespace())
		})
	}
}

// awaitProcessedElsewhere is awaitProcessed for a namespace that takes nothing new.
func (w *world) awaitProcessedElsewhere() {
	w.T.Helper()
	newWorld(w.T).awaitProcessed()
}

// testNamespaceWithComposed: a namespace with composed Usages is deleted too, although these
// Usages wait for their using objects without limit.
func testNamespaceWithComposed(t *testing.T) {
	w := newWorld(t)
	w.create(configMap("a"), configMap("b"), configMap("c"))
	u1, u2 := composed(uses("u1", named("c"), named("b"))), composed(uses("u2", named("b"), named("a")))
	w.create(u1, u2)
	w.ready(u1, u2)
	w.Delete(w.namespace())
	w.Gone(w.namespace())
}

// testDefinitionRefused: a CustomResourceDefinition can't be deleted while one of its objects
// is protected, because all its objects would be deleted.
func testDefinitionRefused(t *testing.T) {
	w := newWorld(t)
	k := w.define("Precious")
	obj := k.object("used")
	w.create(obj)
	u := protects("u", k.end("used"), "precious")
	w.create(u)
	w.ready(u)
	want := fmt.Sprintf("The resource holds 1 protected resource(s): Precious/used (Usage u in namespace %s).", w.NS)
	if got := w.refused(k.definition()); !strings.HasPrefix(got, want) {
		t.Errorf("refused with %q, want %q", got, want)
	}
	w.Exists(obj)
	w.Delete(u)
	w.Gone(u)
	testenv.EventuallyWithin(t, promptly, func() error { return w.C.Delete(t.Context(), k.definition()) })
	w.Gone(obj)
}

// testDefinitionEnds: a CustomResourceDefinition can be deleted if all users of its objects are
// its own objects.
func testDefinitionEnds(t *testing.T) {
	w := newWorld(t)
	k := w.define("Chain")
	a, b := k.object("a"), k.object("b")
	w.create(a, b)
	u := uses("u", k.end("b"), k.end("a"))
	w.create(u)
	w.ready(u)
	w.Delete(k.definition())
	w.Gone(k.definition())
	w.Gone(a, b)
}

// testOwnDefinitions: with the definition of a Usage all protection would go.
func testOwnDefinitions(t *testing.T) {
	w := newWorld(t)
	used := configMap("used")
	w.create(used)
	for resource, u := range map[string]usage{
		"usages.protection.crossplane.io":        protects("u", named("used"), "precious"),
		"clusterusages.protection.crossplane.io": cluster(protects(w.NS, in(w.NS, named("used")), "precious")),
		"usages.apiextensions.crossplane.io":     legacy(protects(w.NS, in(w.NS, named("used")), "precious")),
	} {
		w.create(u)
		w.ready(u)
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: resource}}
		w.refused(crd, client.DryRunAll)
	}
}

// testDeleteCollection: the protected object stays and is named. The API server
// stops at the first refusal.
func testDeleteCollection(t *testing.T) {
	w := newWorld(t)
	for i := range 400 {
		w.create(labelled(fmt.Sprintf("cm%d", i), "app", "x"))
	}
	u := protects("u", named("cm4"), "precious")
	w.create(u)
	w.ready(u)
	err := w.C.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(w.NS), client.MatchingLabels{"app": "x"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `"precious" (Usage u`) {
		t.Errorf("answered with %v", err)
	}
	status := err.(apierrors.APIStatus)
	if name := status.Status().Details.Name; name != "cm4" {
		t.Errorf("the answer is about %q, want the protected object", name)
	}
	cm4 := configMap("cm4")
	cm4.Namespace = w.NS
	w.Exists(cm4)
	// The Usage itself may be deleted like that.
	if err := w.C.DeleteAllOf(t.Context(), &protectionv1beta1.Usage{}, client.InNamespace(w.NS)); err != nil {
		t.Error(err)
	}
	w.Gone(u)
}
