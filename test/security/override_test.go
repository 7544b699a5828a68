package security_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// allowEverywhere gives a user rights in the whole cluster until the end of the test.
func (l land) allowEverywhere(user string, rules ...rbacv1.PolicyRule) {
	l.T.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: user + "-"}, Rules: rules}
	l.Create(role)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name}, Subjects: []rbacv1.Subject{{Kind: "User", Name: user}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}
	l.Create(binding)
	ctx := context.WithoutCancel(l.T.Context())
	l.T.Cleanup(func() {
		for _, obj := range []client.Object{binding, role} {
			if err := l.C.Delete(ctx, obj); err != nil {
				l.T.Error(err)
			}
		}
	})
	testenv.AwaitRights(l.T, user, "", true, rules...)
}

// overrideAll is the verb override on all Usages.
var overrideAll = []rbacv1.PolicyRule{
	right(usageGroup, "usages", "override"), right(usageGroup, "clusterusages", "override"),
	right("apiextensions.crossplane.io", "usages", "override"),
}

// annotate writes on an object which Usages its deletion is to ignore.
func (l land) annotate(obj client.Object, names string) {
	l.T.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"kinship.dev/override-usage":%q}}}`, names)
	if err := l.C.Patch(l.T.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		l.T.Fatal(err)
	}
}

// TestOverride: a tenant's Usage keeps an administrator from deleting the namespace. The
// refusal says by which Usage and how to go on, which takes the verb override in the whole
// cluster and a word on the object: neither is enough.
func TestOverride(t *testing.T) {
	for _, by := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		t.Run(string(by), func(t *testing.T) {
			operator.Start(t, func(o *options.Options) { o.Enforcement = by })
			testOverride(t, by)
		})
	}
}

func testOverride(t *testing.T, by pack.Enforcement) {
	t.Helper()
	l := newLand(t)
	used, u := l.configMap("used"), l.usage("usage")
	u.Spec.By, u.Spec.Reason = nil, new("a tenant wants it so")
	l.Create(used, u)
	l.awaitReady(u)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: l.NS}}
	testenv.Eventually(t, func() error { return l.C.Get(t.Context(), client.ObjectKeyFromObject(ns), ns) })
	local, clusterwide, plain := l.user("local"), l.user("clusterwide"), l.user("plain")
	deletes := []rbacv1.PolicyRule{right("", "namespaces", "delete"), right("", "configmaps", "delete")}
	for _, user := range []string{local, clusterwide, plain} {
		l.allowEverywhere(user, deletes...)
	}
	l.allowEverywhere(clusterwide, overrideAll...)
	l.allow(local, right(usageGroup, "usages", "override"))
	refused := func(user string, obj client.Object) string {
		t.Helper()
		err := l.As(user).Delete(t.Context(), obj, client.DryRunAll)
		if !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) {
			t.Fatalf("%s deletes %s: %v, want a refusal", user, obj.GetName(), err)
		}
		return err.Error()
	}
	testenv.Eventually(t, func() error { // The namespace is locked a moment after what is in it.
		err := l.As(plain).Delete(t.Context(), ns, client.DryRunAll)
		if !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("the namespace can be deleted: %w", err)
		}
		return nil
	})
	says := []string{string(ns.UID), "kubectl annotate namespace", ns.Name, "override-usage=", "the verb override"}
	if by == pack.ByWebhook { // A policy can't tell.
		says = append(says, "Usage usage in namespace "+l.NS)
	}
	text := refused(clusterwide, ns)
	for _, word := range says {
		if !strings.Contains(text, word) {
			t.Errorf("the refusal does not say %q: %s", word, text)
		}
	}
	for _, wish := range []string{"*", string(ns.UID)} {
		l.annotate(ns, wish)
		refused(plain, ns)
		refused(local, ns)
		if err := l.As(clusterwide).Delete(t.Context(), ns, client.DryRunAll); err != nil {
			t.Errorf("with the verb override and %q: %v", wish, err)
		}
	}
	l.annotate(ns, string(used.UID))
	refused(clusterwide, ns) // Of another object.
	l.annotate(used, string(used.UID))
	refused(plain, used)
	if err := l.As(clusterwide).Delete(t.Context(), used); err != nil {
		t.Errorf("delete a protected object with the verb override: %v", err)
	}
	l.annotate(ns, string(ns.UID))
	if err := l.As(clusterwide).Delete(t.Context(), ns); err != nil {
		t.Errorf("delete the namespace with the verb override: %v", err)
	}
	l.Gone(ns)
}

// TestOverrideByController: what a controller of Kubernetes deletes, whoever may annotate
// the object may have had it delete. It never overrides, whatever its rights are.
func TestOverrideByController(t *testing.T) {
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	for _, by := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		t.Run(string(by), func(t *testing.T) {
			operator.Start(t, func(o *options.Options) { o.Enforcement = by })
			l := newLand(t)
			used, u := l.configMap("used"), l.usage("usage")
			u.Spec.By, u.Spec.Reason = nil, new("it is precious")
			l.Create(used, u)
			l.awaitReady(u)
			l.allowEverywhere(collector, append(overrideAll, right("", "configmaps", "delete"))...)
			l.annotate(used, "*")
			err := l.As(collector).Delete(t.Context(), used, client.DryRunAll)
			if !apierrors.IsConflict(err) && !apierrors.IsForbidden(err) {
				t.Errorf("the garbage collector overrides a Usage: %v", err)
			}
			l.Delete(u)
		})
	}
}

// TestMaxPerNamespace bounds how many Usages a tenant may have.
func TestMaxPerNamespace(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Usage.MaxPerNamespace = 2 })
	l := newLand(t)
	for i := range 2 {
		l.Create(l.usage(fmt.Sprint("usage", i)))
	}
	testenv.Eventually(t, func() error { // They are counted a moment after they are created.
		err := l.C.Create(t.Context(), l.usage("more"), client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "--usage-max-per-namespace") {
			return fmt.Errorf("one more than allowed: %w", err)
		}
		return nil
	})
	change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"reason":"one that exists may be changed"}}`))
	if err := l.C.Patch(t.Context(), l.usage("usage0"), change); err != nil {
		t.Error(err)
	}
	other := newLand(t)
	other.Create(other.usage("usage"))
	for i := range 2 {
		l.Delete(l.usage(fmt.Sprint("usage", i)))
	}
	testenv.Eventually(t, func() error { return l.C.Create(t.Context(), l.usage("again"), client.DryRunAll) })
}

// TestStrangeName: the command in a policy's refusal is for a shell, and Kubernetes allows names of Roles that a shell
// interprets. The refusal shows such a name in quotes.
func TestStrangeName(t *testing.T) {
	operator.Start(t, func(o *options.Options) { o.Enforcement = pack.ByPolicy })
	l := newLand(t)
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: l.NS, Name: "it's $(touch x); --all"}}
	u := l.usage("usage")
	u.Spec.Of.APIVersion, u.Spec.Of.Kind = rbacv1.SchemeGroupVersion.String(), "Role"
	u.Spec.Of.ResourceRef.Name = role.Name
	l.Create(role, l.secret("using"), u)
	l.awaitReady(u)
	user := l.user("deletes")
	l.allowEverywhere(user, right(rbacv1.GroupName, "roles", "delete"))
	err := l.As(user).Delete(t.Context(), role, client.DryRunAll)
	want := `kubectl annotate roles.rbac.authorization.k8s.io/'it'\''s $(touch x); --all' -n ` + l.NS
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("the refusal has no %s: %v", want, err)
	}
}
