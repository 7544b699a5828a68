package frontdoor_test

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	process "github.com/kinship-dev/kinship/internal/operator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestManifests applies the output of `kinship manifests` as a GitOps tool does, and installs with --install. Both
// give the same objects, and no others.
func TestManifests(t *testing.T) {
	o := optionsFor(t, "usage", "iot")
	o.WebhookPort = testenv.FreePort(t)
	manifests, err := install.Manifests(o, true)
	if err != nil {
		t.Fatal(err)
	}
	c := operator.Client(t)
	for _, u := range manifests {
		err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u.DeepCopy()), client.FieldOwner("gitops"))
		if err != nil {
			t.Fatal(err)
		}
	}
	applied := snapshot(t, manifests)
	removeAll(t)
	if err := install.Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(applied, snapshot(t, manifests)); diff != "" {
		t.Errorf("the objects differ (-manifests +install):\n%s", diff)
	}
	removeAll(t)
}

// snapshot returns the installation's objects of the kinds of manifests, without the fields that differ from cluster
// to cluster.
func snapshot(t *testing.T, manifests []*unstructured.Unstructured) map[string]map[string]any {
	t.Helper()
	templates, all := map[string]*unstructured.Unstructured{}, map[string]map[string]any{}
	key := func(u *unstructured.Unstructured) string {
		return u.GetKind() + " " + u.GetNamespace() + "/" + u.GetName()
	}
	for _, u := range manifests {
		templates[key(u)] = u
	}
	seen := map[string]bool{}
	for _, u := range manifests {
		if seen[u.GetKind()] {
			continue
		}
		seen[u.GetKind()] = true
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(u.GetAPIVersion())
		list.SetKind(u.GetKind() + "List")
		err := operator.Client(t).List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			live := &list.Items[i]
			if template := templates[key(live)]; template != nil {
				withoutSecretPath(live, template)
			}
			for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
				unstructured.RemoveNestedField(live.Object, "metadata", field)
			}
			unstructured.RemoveNestedField(live.Object, "status")
			all[key(live)] = live.Object
		}
	}
	for name := range templates {
		if all[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	return all
}

// withoutSecretPath gives the webhooks of a configuration the addresses of the template.
func withoutSecretPath(live, template *unstructured.Unstructured) {
	hooks, _, _ := unstructured.NestedSlice(live.Object, "webhooks")
	wanted, _, _ := unstructured.NestedSlice(template.Object, "webhooks")
	for i, hook := range hooks {
		got, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "url")
		want, _, _ := unstructured.NestedString(wanted[i].(map[string]any), "clientConfig", "url")
		if strings.HasPrefix(got, want+"/") {
			hook.(map[string]any)["clientConfig"].(map[string]any)["url"] = want
		}
	}
	if len(hooks) > 0 {
		live.Object["webhooks"] = hooks
	}
}

// TestManifestsCommand prints the same text twice, and needs no cluster.
func TestManifestsCommand(t *testing.T) {
	args := []string{"manifests", "--packs", "usage", "--kinds", "configmaps", "--enforcement", "policy"}
	code, first, errOut := offline(t, args...)
	const definition = "name: usages.protection.crossplane.io\n"
	if code != 0 || !strings.HasPrefix(first, "---\n") || !strings.Contains(first, definition) {
		t.Fatalf("code %d: %s", code, errOut)
	}
	if _, again, _ := offline(t, args...); again != first {
		t.Error("the output differs from call to call")
	}
	for _, absent := range []string{"kinship-openstack", "nousages.protection.crossplane.io"} {
		if strings.Contains(first, "name: "+absent) {
			t.Errorf("the manifests have %s", absent)
		}
	}
	for want, args := range map[string][]string{
		"needs --webhook-port": {"--webhook-host", "10.0.0.1"}, `no pack "none"`: {"--packs", "none"},
		`enforcement is "x"`: {"--enforcement", "x"},
	} {
		code, _, errOut := offline(t, append([]string{"manifests"}, args...)...)
		if code != 2 || !strings.Contains(errOut, want) {
			t.Errorf("%q: code %d, %s", args, code, errOut)
		}
	}
}

// TestAllFaultsAtOnce installs where much is wrong. The error names every fault, and nothing is applied.
func TestAllFaultsAtOnce(t *testing.T) {
	c := operator.Client(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kinship-metrics-reader"}}
	if err := c.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, role) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	o := optionsFor(t, "usage", "iot")
	o.Config = testenv.As(t, reader(t))
	o.Install, o.WebhookHost, o.WebhookPort = true, "", testenv.FreePort(t)
	o.Namespaces, o.HealthAddress = []string{"no-such-namespace"}, listener.Addr().String()
	o.MetricsInsecure, o.MetricsAddress, o.MetricsCertDir = false, "127.0.0.1:0", "/no-such-directory"
	err = process.Run(t.Context(), o)
	if err == nil {
		t.Fatal("it was installed")
	}
	for _, fault := range []string{
		"nothing was installed", "--namespaces names no-such-namespace", "give --webhook-host",
		"ClusterRole kinship-metrics-reader exist already", "--health-probe-bind-address", "address already in use",
		"you may not create secrets", `cannot patch resource "customresourcedefinitions"`,
		`cannot patch resource "validatingwebhookconfigurations"`, "read the metrics' certificate: open /no-such-directory",
	} {
		if !strings.Contains(err.Error(), fault) {
			t.Errorf("the error does not name %q", fault)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
	o.Enforcement, o.Iot.Identity, o.Azure.Credential, o.TraceEndpoint = "x", "y", "z", "collector"
	err = install.Install(t.Context(), o)
	for _, want := range []string{
		`enforcement is "x"`, `identity is "y"`, `--azure-credential is "z"`, `--otlp-endpoint is "collector"`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if found := examine(t, unexamined(t), noTime); !slices.Contains(found, "NotInstalled Namespace/kinship-system") {
		t.Errorf("something was installed: %q", found)
	}
}

// TestPortTaken runs with --install where another process listens at the port of the webhooks. Nothing is installed:
// the API server would call the other process.
func TestPortTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	o := optionsFor(t, "usage")
	o.Install, o.WebhookPort = true, listener.Addr().(*net.TCPAddr).Port
	err = process.Run(t.Context(), o)
	for _, want := range []string{"nothing was installed", strconv.Itoa(o.WebhookPort), "address already in use"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if found := examine(t, unexamined(t), noTime); !slices.Contains(found, "NotInstalled Namespace/kinship-system") {
		t.Errorf("something was installed: %q", found)
	}
}

// reader is a user who may read everything and write nothing.
func reader(t *testing.T) string {
	t.Helper()
	c, name := operator.Client(t), "reader"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}},
		{
			APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews"},
			Verbs: []string{"create"},
		},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: name}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { remove(t, obj) })
	}
	testenv.AwaitRights(t, name, "", true, role.Rules[0])
	return name
}

// remove deletes an object at the end of a test.
func remove(t *testing.T, obj client.Object) {
	t.Helper()
	if err := client.IgnoreNotFound(operator.Client(t).Delete(contextOf(t), obj)); err != nil {
		t.Error(fmt.Errorf("delete %s: %w", obj.GetName(), err))
	}
}
