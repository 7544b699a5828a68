package security_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestNamespaces runs all packs with --namespaces: they work in these namespaces, no pack's
// account may do anything in another one, and what lies outside is told or left alone.
func TestNamespaces(t *testing.T) {
	if err := operator.Start(t, everyPack).Stop(); err != nil { // Which gives the wide rights.
		t.Fatal(err)
	}
	first, second, outside := newLand(t), newLand(t), newLand(t)
	in := []string{first.NS, second.NS}
	o := operator.Start(t, everyPack, func(o *options.Options) { o.Namespaces = in })
	scopes(t, first.C, in)
	secret := right("", "secrets", "get")
	for _, name := range options.PackNames() {
		user := options.OperatorOf(name)
		testenv.AwaitRights(t, user, outside.NS, false, secret, right("", "secrets", "list"),
			right("", "configmaps", "delete"), right("apps", "deployments", "create"))
		testenv.AwaitRights(t, user, options.Namespace, false, secret)
		testenv.AwaitRights(t, user, "", false, secret, right("", "configmaps", "list"))
		outside.readsNoSecret(t, name)
	}
	testenv.AwaitRights(t, options.OperatorOf("openstack"), second.NS, true, secret)
	for _, l := range []land{first, second} {
		l.Create(l.configMap("used"), l.secret("using"))
		u := l.usage("usage")
		l.Create(u)
		testenv.Eventually(t, func() error { return l.isReady(u) })
		if err := l.C.Delete(t.Context(), l.configMap("used")); !apierrors.IsConflict(err) {
			t.Errorf("deletion in namespace %s: %v, want a conflict", l.NS, err)
		}
		l.connectorReconciles()
		l.network("fine")
		l.reconciles("fine", "first")
	}
	first.network("odd")
	first.acceptAnyTime("networks.openstack.k-orc.cloud")
	first.spoil("Network", "odd", `{"lastSyncTime":"2030-01-01t00:00:00z"}`)
	logged(t, o, "name=odd")
	for _, l := range []land{first, second} {
		l.reconciles("fine", "beside the unreadable one")
	}
	first.tellsOfOutside(t, outside)
	outside.Create(outside.configMap("used"), outside.secret("using"), outside.usage("ignored"))
	if err := outside.C.Delete(t.Context(), outside.configMap("used")); err != nil {
		t.Errorf("deletion outside: %v", err)
	}
	for _, l := range []land{first, second} {
		l.Delete(l.secret("using"), l.networkNamed("fine"))
		l.Gone(l.usage("usage"))
	}
	first.Delete(first.networkNamed("odd"))
	if strings.Contains(o.Log(), "is forbidden") {
		t.Errorf("the operator asked for what it may not do")
	}
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Run("another", func(t *testing.T) { narrowTo(t, []string{second.NS}, first.NS) })
	t.Run("policy", func(t *testing.T) { second.refusedByPolicy(t, first) })
	t.Run("all", func(t *testing.T) { narrowTo(t, nil, "") })
}

// scopes compares the rules with what the API server serves: those of ClusterRoles are about
// what is in no namespace, and those of Roles about what is in namespaces.
func scopes(t *testing.T, c client.Client, namespaces []string) {
	t.Helper()
	objects, err := install.Objects(options.Options{Namespaces: namespaces}, true)
	if err != nil {
		t.Fatal(err)
	}
	check := func(role string, rules []rbacv1.PolicyRule, want meta.RESTScopeName) {
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					plural, _, _ := strings.Cut(resource, "/")
					kind, err := c.RESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural})
					if err != nil || kind.Group != group {
						continue // All kinds, or one that is not served.
					}
					mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
					if err == nil && mapping.Scope.Name() != want {
						t.Errorf("%s has a rule about %s of %q, whose scope is %s", role, resource, group, mapping.Scope.Name())
					}
				}
			}
		}
	}
	for _, obj := range objects {
		switch role := obj.(type) {
		case *rbacv1.ClusterRole:
			if isForUsers(role) {
				continue // Bindings of users decide in which namespaces the rules hold.
			}
			check("ClusterRole "+role.Name, role.Rules, meta.RESTScopeNameRoot)
		case *rbacv1.Role:
			if role.Namespace != options.Namespace {
				check("Role "+role.Name, role.Rules, meta.RESTScopeNameNamespace)
			}
		}
	}
}

// readsNoSecret reads a Secret as a pack's account, with a token of the account's own.
func (l land) readsNoSecret(t *testing.T, name string) {
	t.Helper()
	l.T = t
	secret := l.secret("theirs-" + name)
	l.Create(secret)
	as := l.asAccount(options.AccountOf(name))
	if err := as.Get(t.Context(), client.ObjectKeyFromObject(secret), &corev1.Secret{}); !apierrors.IsForbidden(err) {
		t.Errorf("%s reads a Secret outside: %v, want it forbidden", name, err)
	}
	var all corev1.SecretList
	if err := as.List(t.Context(), &all); !apierrors.IsForbidden(err) {
		t.Errorf("%s lists all Secrets: %v, want it forbidden", name, err)
	}
}

// asAccount returns what acts with a token of an account of the operator.
func (l land) asAccount(name string) client.Client {
	l.T.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: name}}
	token := &authenticationv1.TokenRequest{}
	if err := l.C.SubResource("token").Create(l.T.Context(), account, token); err != nil {
		l.T.Fatal(err)
	}
	config := rest.AnonymousClientConfig(testenv.Config(l.T))
	config.BearerToken = token.Status.Token
	return testenv.ClientFor(l.T, config, l.C.Scheme())
}

// tellsOfOutside writes Usages that reach out of the namespaces.
func (l land) tellsOfOutside(t *testing.T, outside land) {
	t.Helper()
	for what, of := range map[string]*protectionv1beta1.ClusterUsage{
		"another namespace": {Spec: l.usage("").Spec}, "no namespace": {Spec: l.usage("").Spec},
	} {
		of.Name, of.Spec.By, of.Spec.Reason = l.NS, nil, new("because")
		of.Spec.Of = in(outside.NS, resource("ConfigMap", "used"))
		if what == "no namespace" {
			of.Spec.Of = resource("PersistentVolume", "used")
		}
		if err := l.C.Create(t.Context(), of); err == nil || !strings.Contains(err.Error(), "--namespaces") {
			t.Errorf("a ClusterUsage of an object in %s: %v, want it refused with the name of the flag", what, err)
		}
	}
}

// refusedByPolicy protects an object with --enforcement=policy in one namespace, and not in
// another.
func (l land) refusedByPolicy(t *testing.T, outside land) {
	t.Helper()
	l.T, outside.T = t, t
	o := operator.Start(t, everyPack, func(o *options.Options) {
		o.Namespaces, o.Enforcement = []string{l.NS}, pack.ByPolicy
	})
	u := l.usage("by-policy")
	u.Spec.Of = resource("ConfigMap", "by-policy")
	l.Create(l.configMap("by-policy"), l.secret("using"), u)
	testenv.Eventually(t, func() error { return l.isReady(u) })
	if err := l.C.Delete(t.Context(), l.configMap("by-policy")); !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
		t.Errorf("deletion: %v, want it refused", err)
	}
	stray := outside.configMap("by-policy")
	stray.Labels = map[string]string{"crossplane.io/in-use": "true"}
	outside.Create(stray)
	outside.Delete(stray)
	l.Delete(l.secret("using"))
	l.Gone(u)
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
}

// narrowTo installs once more, and looks for roles that are left.
func narrowTo(t *testing.T, namespaces []string, left string) {
	t.Helper()
	o := operator.Start(t, everyPack, func(o *options.Options) { o.Namespaces = namespaces })
	c := operator.Client(t)
	mine := client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"}
	var bindings rbacv1.RoleBindingList
	if err := c.List(t.Context(), &bindings, mine); err != nil {
		t.Fatal(err)
	}
	allowed := slices.Concat(namespaces, []string{options.Namespace})
	if len(namespaces) > 0 {
		allowed = append(allowed, metav1.NamespaceDefault)
	}
	for _, b := range bindings.Items {
		if !slices.Contains(allowed, b.Namespace) {
			t.Errorf("RoleBinding %s/%s is left", b.Namespace, b.Name)
		}
	}
	for _, name := range options.PackNames() {
		want := name != "iot" && name != "oam" && len(namespaces) == 0 // These two read no Secrets.
		testenv.AwaitRights(t, options.OperatorOf(name), left, want, right("", "secrets", "get"))
		err := c.Get(t.Context(), client.ObjectKey{Name: options.AccountOf(name)}, &rbacv1.ClusterRoleBinding{})
		if name == "iot" && apierrors.IsNotFound(err) != (len(namespaces) > 0) {
			t.Errorf("ClusterRoleBinding of %s: %v", name, err)
		}
	}
	if err := o.Stop(); err != nil {
		t.Fatal(fmt.Errorf("stop: %w", err))
	}
}
