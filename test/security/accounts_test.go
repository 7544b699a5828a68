package security_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// theirs is what one account of the operator may do, and the others may not. The account of
// usage may do anything as long as nobody narrows its role.
var theirs = map[string][]rbacv1.PolicyRule{
	"": {
		{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}},
		{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}},
		{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"events"}},
	},
	"usage": {
		{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
		{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"namespaces"}},
		{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"pods/eviction"}},
		{Verbs: []string{"patch"}, APIGroups: []string{usageGroup}, Resources: []string{"usages/status"}},
	},
	"iot": {
		{Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
		{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"serviceaccounts"}},
		{
			Verbs: []string{"update"}, APIGroups: []string{"services.azurehealthcareapis.com"},
			Resources: []string{"iotconnectors/finalizers"},
		},
	},
	"oam": {
		{Verbs: []string{"create"}, APIGroups: []string{"batch"}, Resources: []string{"jobs"}},
		{Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}},
		{Verbs: []string{"patch"}, APIGroups: []string{"core.oam.dev"}, Resources: []string{"components/status"}},
	},
	"openstack": {
		{Verbs: []string{"create"}, APIGroups: []string{cloudGroup.Group}, Resources: []string{"routerinterfaces"}},
		{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		{Verbs: []string{"patch"}, APIGroups: []string{cloudGroup.Group}, Resources: []string{"networks/status"}},
	},
}

// rendered are resources which the pack oam has rights to, because they are often workloads of Components.
var rendered = []string{"configmaps", "deployments"}

// everywhere is a verb that the wide role of usage has on all.
var everywhere = []string{"get", "list", "watch", "patch", "delete"}

// TestAccounts asks the API server what each account of the operator may do: what its pack
// needs, and nothing of what only another pack needs.
func TestAccounts(t *testing.T) {
	o := operator.Start(t, everyPack)
	l := newLand(t)
	for _, user := range options.Operators() {
		if !strings.Contains(o.Log(), "user="+user) {
			t.Errorf("the log does not say that the operator acts as %s", user)
		}
	}
	for owner, rules := range theirs {
		for _, name := range slices.Concat([]string{""}, options.PackNames()) {
			for _, rule := range rules {
				want := name == owner || name == "usage" && slices.Contains(everywhere, rule.Verbs[0]) ||
					name == "oam" && slices.Contains(rendered, rule.Resources[0]) ||
					name == "azure" && rule.Resources[0] == "secrets" // As openstack.
				l.awaitRights(account(name), want, rule)
			}
		}
	}
	t.Run("tokens", l.tokens)
}

// account returns the user name of a pack's account, or of the process's own.
func account(name string) string {
	if name == "" {
		return options.Operator
	}
	return options.OperatorOf(name)
}

// tokens: the process's account asks for tokens of the packs' accounts, and of no other; the
// packs' accounts ask for none.
func (l land) tokens(t *testing.T) {
	l.T = t
	l.Create(&corev1.ServiceAccount{ObjectMeta: l.named("somebody")})
	for _, name := range slices.Concat([]string{""}, options.PackNames()) {
		for _, asked := range options.PackNames() {
			l.mayAsk(t, name, options.Namespace, options.AccountOf(asked), name == "")
		}
		l.mayAsk(t, name, options.Namespace, options.Account, false)
		l.mayAsk(t, name, l.NS, "somebody", false)
	}
}

func (l land) mayAsk(t *testing.T, name, namespace, asked string, want bool) {
	t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: account(name), ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Name: asked, Verb: "create", Resource: "serviceaccounts", Subresource: "token",
		},
	}}
	if err := l.C.Create(t.Context(), review); err != nil {
		t.Fatal(err)
	}
	if review.Status.Allowed != want {
		t.Errorf("%s asks for a token of %s/%s: allowed is %t", account(name), namespace, asked, review.Status.Allowed)
	}
}

// TestMissingAccount deletes the account of each pack in turn: that pack alone stops and says
// so. The protection by the others goes on.
func TestMissingAccount(t *testing.T) {
	if err := operator.Start(t, everyPack).Stop(); err != nil {
		t.Fatal(err)
	}
	controllers := map[string]string{
		"usage": "usage", "iot": "iotconnector", "openstack": "openstack.k-orc.cloud/network",
		"oam": "core.oam.dev/component", "azure": "azure.kinship.dev/kinds",
	}
	l := newLand(t)
	for _, name := range options.PackNames() {
		t.Run(name, func(t *testing.T) {
			account := &corev1.ServiceAccount{}
			account.Namespace, account.Name = options.Namespace, options.AccountOf(name)
			l.Delete(account.DeepCopy())
			t.Cleanup(func() { l.Create(account) })
			o := operator.Start(t, everyPack, func(o *options.Options) { o.Install, o.Adopt = false, false })
			if stopped := operator.Metrics(t, "kinship_pack_stopped", "pack"); len(stopped) != 1 || stopped[name] != 1 {
				t.Errorf("stopped are %v, want %s", stopped, name)
			}
			if log := o.Log(); !strings.Contains(log, "level=WARN msg=\"A pack is stopped\" pack="+name) {
				t.Errorf("the log does not say that pack %s is stopped", name)
			}
			starts := func(controller string) bool {
				return strings.Contains(o.Log(), "msg=\"Starting Controller\" controller="+controller)
			}
			for other, controller := range controllers {
				if other == name {
					continue
				}
				testenv.Eventually(t, func() error {
					if !starts(controller) {
						return fmt.Errorf("controller %s of pack %s does not start", controller, other)
					}
					return nil
				})
			}
			if err := o.Stop(); err != nil {
				t.Error(err)
			}
			if starts(controllers[name]) {
				t.Errorf("controller %s of the stopped pack runs", controllers[name])
			}
		})
	}
}

// TestLimitedSecrets takes the right to list Secrets from the pack that needs it: no other
// pack stops.
func TestLimitedSecrets(t *testing.T) {
	if err := operator.Start(t, everyPack).Stop(); err != nil {
		t.Fatal(err)
	}
	l := newLand(t)
	role := &rbacv1.ClusterRole{}
	if err := l.C.Get(t.Context(), client.ObjectKey{Name: options.AccountOf("openstack")}, role); err != nil {
		t.Fatal(err)
	}
	before := role.DeepCopy()
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "secrets")
	})
	if err := l.C.Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	l.awaitRights(options.OperatorOf("openstack"), false, right("", "secrets", "list"))
	o := operator.Start(t, everyPack, func(o *options.Options) { o.Install, o.Adopt = false, false })
	l.Create(l.configMap("used"), l.secret("using"))
	u := l.usage("usage")
	l.Create(u)
	testenv.Eventually(t, func() error { return l.isReady(u) })
	l.connectorReconciles()
	testenv.Eventually(t, func() error {
		if !strings.Contains(o.Log(), "secrets is forbidden") {
			return fmt.Errorf("the log does not say that Secrets can't be listed")
		}
		return nil
	})
	failing := operator.Metrics(t, "kinship_watch_failing", "pack", "kind")
	if len(failing) == 0 {
		t.Error("no kind is counted as failing")
	}
	for what := range failing {
		if failing[what] != 0 && !strings.HasPrefix(what, "openstack ") {
			t.Errorf("%s stopped too", what)
		}
	}
	l.giveBack([]rbacv1.ClusterRole{*before})
	l.Delete(l.secret("using"), u)
}

// TestSecretsAreKept acts as each account of a pack: it puts a label on a Secret where it may,
// and changes nothing of what the Secret holds, even with the right to.
func TestSecretsAreKept(t *testing.T) {
	operator.Start(t, everyPack)
	l := newLand(t)
	secret := l.secret("held")
	secret.Data = map[string][]byte{"password": []byte("theirs")}
	l.Create(secret)
	for _, name := range options.PackNames() {
		l.allow(options.OperatorOf(name), right("", "secrets", "get", "create", "update", "patch"))
		as := l.As(options.OperatorOf(name))
		patch := func(text string) error {
			patch := client.RawPatch(types.MergePatchType, []byte(text))
			return as.Patch(t.Context(), secret.DeepCopy(), patch, client.DryRunAll)
		}
		testenv.Eventually(t, func() error { return patch(`{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d"}}}`) })
		for _, change := range []string{
			`{"data":{"password":"b3Vycw=="}}`, `{"data":{"more":"b3Vycw=="}}`, `{"data":null}`,
			`{"stringData":{"password":"ours"}}`, `{"type":"example.com/other"}`, `{"immutable":true}`,
			`{"metadata":{"labels":{"a":"b"}},"data":{"password":"b3Vycw=="}}`,
		} {
			// The API server learns of policies by a watch, and refuses another type by itself.
			testenv.Eventually(t, func() error {
				err := patch(change)
				if apierrors.IsInvalid(err) && strings.Contains(change, "type") {
					return nil
				}
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "changes nothing else") {
					return fmt.Errorf("%s: %s: %w, want it refused", name, change, err)
				}
				return nil
			})
		}
		updated := secret.DeepCopy()
		updated.StringData = map[string]string{"password": "ours"}
		if err := as.Update(t.Context(), updated, client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: update: %v, want it refused", name, err)
		}
		if err := as.Create(t.Context(), l.secret("new-"+name), client.DryRunAll); !apierrors.IsForbidden(err) {
			t.Errorf("%s: creation: %v, want it refused", name, err)
		}
	}
}
