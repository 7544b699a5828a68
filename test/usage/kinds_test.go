package usage_test

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// custom is a kind of the test's own, in a group named after its namespace.
type custom struct {
	w           *world
	group, kind string
}

// define returns a kind of namespaced objects, which is deleted after the test.
func (w *world) define(kind string) custom {
	w.T.Helper()
	k := custom{w, w.NS + ".test", kind}
	k.install()
	w.T.Cleanup(func() { w.tidyUpCluster(k.definition()) })
	return k
}

// install makes the API server serve the kind.
func (k custom) install() {
	k.w.T.Helper()
	k.w.T.Log("defining", k.plural()+"."+k.group)
	testenv.Apply(k.w.T, fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: %[3]s, plural: %[1]s}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, k.plural(), k.group, k.kind))
}

func (k custom) plural() string { return strings.ToLower(k.kind) + "s" }

func (k custom) definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: k.plural() + "." + k.group}}
}

func (k custom) object(name string) *unstructured.Unstructured {
	return unstructuredOf(k.group+"/v1", k.kind, name)
}

func (k custom) end(name string) sharedv1alpha1.Resource {
	return resource(k.group+"/v1", k.kind, name)
}

// testKindLater: a Usage may name kinds that are not installed yet.
func testKindLater(t *testing.T) {
	w := newWorld(t)
	k := custom{w, w.NS + ".test", "Later"}
	cm := configMap("cm")
	w.create(cm)
	of, by := protects("of", k.end("x"), "precious"), uses("by", k.end("x"), named("cm"))
	w.create(of, by)
	for _, u := range []usage{of, by} {
		if message := w.unready(u, "KindNotFound"); !strings.Contains(message, "no kind Later."+k.group+" in this cluster") {
			t.Errorf("message is %q", message)
		}
	}
	w.free(cm)
	k.install()
	t.Cleanup(func() { w.tidyUpCluster(k.definition()) })
	w.unready(of, "UsedNotFound")
	w.unready(by, "UsingNotFound")
	x := k.object("x")
	w.create(x)
	w.ready(of, by)
	w.refused(x)
	w.refused(cm)
}

// testKindVanishes: the deletion of the using object's CustomResourceDefinition deletes the
// object, and ends the protection.
func testKindVanishes(t *testing.T) {
	w := newWorld(t)
	k := w.define("Fleeting")
	cm, x := configMap("cm"), k.object("x")
	w.create(cm, x)
	u := uses("u", k.end("x"), named("cm"))
	w.create(u)
	w.ready(u)
	w.refused(cm)
	w.Delete(k.definition())
	w.Gone(k.definition())
	w.free(cm)
	w.Delete(cm)
}

// testVersionVanishes: the kind is served in another version. A Usage with the old version has
// the reason KindNotFound, protects the same object all the time, and is Ready again with the
// new version.
func testVersionVanishes(t *testing.T) {
	w := newWorld(t)
	k := w.define("Moving")
	x := k.object("x")
	w.create(x)
	u := protects("u", k.end("x"), "precious")
	w.create(u)
	w.ready(u)
	crd := k.definition()
	w.Update(crd, func() {
		v2 := *crd.Spec.Versions[0].DeepCopy()
		v2.Name = "v2"
		crd.Spec.Versions[0].Storage = false
		crd.Spec.Versions = append(crd.Spec.Versions, v2)
	})
	w.Update(crd, func() { crd.Spec.Versions[0].Served = false })
	if message := w.unready(u, "KindNotFound"); !strings.Contains(message, "is not served in version v1, but in [v2]") {
		t.Errorf("message is %q", message)
	}
	w.refused(unstructuredIn(w.NS, k.group+"/v2", k.kind, "x"))
	w.Update(u, func() { u.Spec.Of.APIVersion = k.group + "/v2" })
	w.ready(u)
	w.refused(unstructuredIn(w.NS, k.group+"/v2", k.kind, "x"))
}

func unstructuredIn(ns, apiVersion, kind, name string) *unstructured.Unstructured {
	obj := unstructuredOf(apiVersion, kind, name)
	obj.SetNamespace(ns)
	return obj
}

// testRules: the webhook has a rule for exactly the kinds in use.
func testRules(t *testing.T) {
	w := newWorld(t)
	k := w.define("Ruled")
	ruled := func() bool {
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		c.Name = "crossplane-no-usages"
		if err := w.Read(&c); err != nil {
			t.Fatal(err)
		}
		hook := c.Webhooks[0]
		if *hook.FailurePolicy != admissionregistrationv1.Fail || *hook.TimeoutSeconds != 3 ||
			hook.ObjectSelector.MatchLabels[lock] != "true" {
			t.Errorf("webhook is %+v", hook)
		}
		for _, r := range hook.Rules {
			if len(r.APIGroups) != 1 || len(r.Resources) != 1 || r.APIGroups[0] == "*" || r.Resources[0] == "*" {
				t.Errorf("rule %+v is not about one kind", r)
			}
			if r.APIGroups[0] == k.group && r.Resources[0] == k.plural() {
				return true
			}
		}
		return false
	}
	x := k.object("x")
	w.create(x)
	if ruled() {
		t.Error("there is a rule before there is a Usage")
	}
	u := protects("u", k.end("x"), "precious")
	w.create(u)
	w.ready(u)
	if !ruled() {
		t.Error("the Usage is Ready, and there is no rule")
	}
	w.Delete(u)
	w.Gone(u)
	testenv.Eventually(t, func() error {
		if ruled() {
			return fmt.Errorf("the rule is still there")
		}
		return nil
	})
	// The kind is installed again.
	again := protects("u", k.end("x"), "precious")
	w.create(again)
	w.ready(again)
	w.refused(x)
}
