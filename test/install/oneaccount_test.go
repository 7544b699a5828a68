package install_test

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestOneAccountBefore installs over a release with one account for all packs: the account
// loses the rights of all packs, even of packs that are not installed now.
func TestOneAccountBefore(t *testing.T) {
	c := operator.Client(t)
	earlier := func() {
		for name, rule := range map[string]rbacv1.PolicyRule{
			"kinship-usage": {
				Verbs: []string{"get", "list", "watch", "patch", "delete"}, APIGroups: []string{"*"}, Resources: []string{"*"},
			},
			"kinship-openstack": {Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
			"kinship-iot":       {Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
		} {
			meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/part-of": "kinship"}}
			apply(t, c, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}})
			apply(t, c, &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta,
				Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: options.Namespace, Name: options.Account}},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			})
		}
		testenv.AwaitRights(t, options.Operator, "", true, wide...)
	}
	namespace := testenv.Namespace(t)
	for what, change := range map[string]func(*options.Options){
		"all packs": func(o *options.Options) { o.Packs = nil },
		"one pack":  func(o *options.Options) { o.Packs = []string{"iot"} },
		"narrowed":  func(o *options.Options) { o.Namespaces = []string{namespace} },
	} {
		t.Run(what, func(t *testing.T) {
			earlier()
			o := optionsFor(t)
			o.Install, o.Adopt, o.WebhookPort = true, true, 9443
			change(&o)
			if err := install.Install(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			testenv.AwaitRights(t, options.Operator, "", false, wide...)
			removeAll(t)
		})
	}
}

// wide are the rights of the account of an earlier release.
var wide = []rbacv1.PolicyRule{
	{Verbs: []string{"delete"}, APIGroups: []string{""}, Resources: []string{"configmaps"}},
	{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
	{Verbs: []string{"create"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}},
}

// apply creates an object as an earlier installation did.
func apply(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	if err := c.Create(t.Context(), obj); err != nil {
		t.Fatal(fmt.Errorf("create %s: %w", obj.GetName(), err))
	}
}
