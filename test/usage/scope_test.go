package usage_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
)

func clusterRole(name string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

const rbacV1 = "rbac.authorization.k8s.io/v1"

// testClusterScopedUsed: a Usage in a namespace protects a cluster-scoped object.
func testClusterScopedUsed(t *testing.T) {
	w := newWorld(t)
	role, using := clusterRole(w.NS), configMap("using")
	w.create(role, using)
	u := uses("u", named("using"), resource(rbacV1, "ClusterRole", role.Name))
	w.create(u)
	w.ready(u)
	want := fmt.Sprintf("The resource is used by 1 resource(s): ConfigMap/using (Usage u in namespace %s).", w.NS)
	if got := w.refused(role); got != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.free(role)
}

// testClusterScopedSelected: the same by selector and for a reason, which once
// resolved must still be a valid spec.
func testClusterScopedSelected(t *testing.T) {
	w := newWorld(t)
	role := clusterRole(w.NS)
	role.Labels = map[string]string{"world": w.NS}
	w.create(role)
	of := selected("world", w.NS)
	of.APIVersion, of.Kind = rbacV1, "ClusterRole"
	u := protects("u", of, "precious")
	w.create(u)
	w.ready(u)
	if ref := u.Spec.Of.ResourceRef; ref == nil || ref.Name != role.Name || ref.Namespace != "" {
		t.Errorf("resolved into %+v", ref)
	}
	w.refused(role)
}

// testClusterUsage: a ClusterUsage protects only the object in the namespace that it names.
func testClusterUsage(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	for _, each := range []*world{w, elsewhere} {
		each.create(configMap("used"), configMap("using"))
	}
	u := cluster(uses(w.NS, in(w.NS, named("using")), in(w.NS, named("used"))))
	w.create(u)
	w.ready(u)
	used, same := configMap("used"), configMap("used")
	used.Namespace, same.Namespace = w.NS, elsewhere.NS
	if got, want := w.refused(used), fmt.Sprintf(
		"The resource is used by 1 resource(s): ConfigMap/using (ClusterUsage %s).", w.NS); got != want {
		t.Errorf("refused with %q, want %q", got, want)
	}
	if err := w.Read(same); err != nil || same.Labels[lock] != "" {
		t.Errorf("the object of the same name elsewhere: labels %v, error %v", same.Labels, err)
	}
	w.Delete(same)
	// An ownerReference can't cross namespaces, so the watch ends the Usage.
	if owners(u) != "" {
		t.Errorf("owners are %q", owners(u))
	}
	other := configMap("using")
	other.Namespace = elsewhere.NS
	w.Delete(other)
	w.awaitProcessed()
	w.refused(used)
	using := configMap("using")
	using.Namespace = w.NS
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.free(used)
}

// testClusterUsageNamespace: which namespace is meant has to be said.
func testClusterUsageNamespace(t *testing.T) {
	w := newWorld(t)
	err := w.tryCreate(cluster(protects(w.NS, named("used"), "precious")))
	want := "spec.of: ConfigMap lives in a namespace: set resourceRef.namespace"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("answered with %v, want %q", err, want)
	}
}

// testCrossNamespace: a Usage protects an object in another namespace, and goes
// with its using object though no owner reference could tell.
func testCrossNamespace(t *testing.T) {
	w, elsewhere := newWorld(t), newWorld(t)
	used, using := configMap("used"), configMap("using")
	elsewhere.create(used)
	w.create(using)
	u := uses("u", named("using"), in(elsewhere.NS, named("used")))
	w.create(u)
	w.ready(u)
	if want := "ConfigMap/using uses ConfigMap/used in namespace " + elsewhere.NS; condition(u, "Ready").Message != want {
		t.Errorf("details are %q, want %q", condition(u, "Ready").Message, want)
	}
	w.refused(used)
	w.Delete(using)
	w.goneWithin(promptly, u)
	w.free(used)
}

// testKinds: the three kinds, the legacy kind in both versions, with the manifests of users.
func testKinds(t *testing.T) {
	spec := func(ns string) string {
		return fmt.Sprintf(`
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: used, namespace: %s}}
  by: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: using, namespace: %[1]s}}
`, ns)
	}
	cases := map[string]struct {
		reason, head, who string
		namespaced        bool
	}{
		"Usage": {
			"the namespaced kind", "apiVersion: protection.crossplane.io/v1beta1\nkind: Usage\n", "Usage u in namespace NS", true,
		},
		"ClusterUsage": {
			"the cluster-scoped kind", "apiVersion: protection.crossplane.io/v1beta1\nkind: ClusterUsage\n", "ClusterUsage NS", false,
		},
		"v1alpha1": {
			"the seed's kind", "apiVersion: apiextensions.crossplane.io/v1alpha1\nkind: Usage\n", "Usage NS", false,
		},
		"v1beta1": {
			"the same in its other version", "apiVersion: apiextensions.crossplane.io/v1beta1\nkind: Usage\n", "Usage NS", false,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			used, using := configMap("used"), configMap("using")
			w.create(used, using)
			usageName := w.NS
			if c.namespaced {
				usageName = "u"
			}
			manifest := c.head + "metadata: {name: " + usageName + "}" + spec(w.NS)
			u := testenv.Apply(t, manifest, testenv.In(w.NS))[0]
			if !c.namespaced {
				t.Cleanup(func() { w.tidyUpCluster(u) })
			}
			testenv.Eventually(t, func() error {
				if err := w.Read(u); err != nil {
					return err
				}
				var status protectionv1beta1.Usage // All kinds have the same status.
				err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &status)
				return errors.Join(err, isReady(&status))
			})
			want := fmt.Sprintf("The resource is used by 1 resource(s): ConfigMap/using (%s).",
				strings.ReplaceAll(c.who, "NS", w.NS))
			if got := w.refused(used); got != want {
				t.Errorf("%s: refused with %q, want %q", c.reason, got, want)
			}
			w.Delete(using)
			w.goneWithin(promptly, u)
			w.free(used)
		})
	}
}

// testColumns: the columns of kubectl get.
func testColumns(t *testing.T) {
	w := newWorld(t)
	_, _, _ = w.protected(false)
	w.create(protects("reason", named("used"), "precious data"), protects("waits", named("missing"), "x"))
	for _, name := range []string{"reason", "waits"} {
		u := protects(name, named(name), "")
		u.Namespace = w.NS
		if name == "reason" {
			w.ready(u)
			continue
		}
		w.unready(u, "UsedNotFound")
	}
	table := func(args ...string) string {
		out, err := w.kubectl(append([]string{"get"}, args...)...)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		out = regexp.MustCompile(`\b\d+m?\d*s\b`).ReplaceAllString(out, "AGO")
		return regexp.MustCompile(` {2,}`).ReplaceAllString(out, "  ")
	}
	want := `NAME  DETAILS  READY  AGE
reason  precious data  True  AGO
u  ConfigMap/using uses ConfigMap/used  True  AGO
waits  x  False  AGO
`
	if got := table("usages.protection.crossplane.io"); got != want {
		t.Errorf("kubectl get prints\n%swant\n%s", got, want)
	}
	if got := table("usages.protection.crossplane.io", "waits", "-o", "wide"); !strings.Contains(got, "REASON  EFFECTIVE") ||
		!strings.Contains(got, "UsedNotFound  False") {
		t.Errorf("kubectl get -o wide prints\n%s", got)
	}
	for _, resource := range []string{"clusterusages", "usages.apiextensions.crossplane.io"} {
		u := cluster(protects(w.NS, in(w.NS, named("used")), "precious"))
		if resource == "clusterusages" {
			w.create(u)
		} else {
			w.create(legacy(protects(w.NS, in(w.NS, named("used")), "precious")))
		}
		if got := table(resource, w.NS); !strings.HasPrefix(got, "NAME  DETAILS  READY  AGE\n"+w.NS+"  precious  ") {
			t.Errorf("kubectl get %s prints\n%s", resource, got)
		}
	}
	if out, err := w.kubectl("get", "crossplane"); err != nil || !strings.Contains(out, "usage.protection.crossplane.io/u ") {
		t.Errorf("category crossplane: %v\n%s", err, out)
	}
}

// testNamespaceObject: a namespace itself may be the used object.
func testNamespaceObject(t *testing.T) {
	w := newWorld(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "used-"}}
	if err := w.C.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	u := cluster(protects(w.NS, resource("v1", "Namespace", ns.Name), "precious"))
	w.create(u)
	w.ready(u)
	if got := w.refused(ns); !strings.HasPrefix(got, `The resource is protected: "precious"`) {
		t.Errorf("refused with %q", got)
	}
	w.Delete(u)
	w.Gone(u)
	testenv.EventuallyWithin(t, promptly, func() error { return client.IgnoreNotFound(w.C.Delete(t.Context(), ns)) })
}
