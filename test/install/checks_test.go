package install_test

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestChecksBeforeTheFirstWrite: an installation that can't succeed changes nothing.
func TestChecksBeforeTheFirstWrite(t *testing.T) {
	for name, test := range map[string]struct {
		options func(*options.Options)
		want    string
	}{
		"from outside, without the address of the webhooks": {
			func(o *options.Options) { o.WebhookHost = "" }, "give --webhook-host",
		},
		"by somebody who may write all but policies": {
			func(o *options.Options) { o.Config = testenv.As(t, limited(t)) }, "cannot patch resource",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := optionsFor(t)
			test.options(&o)
			before := snapshot(t)
			err := install.Install(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), "nothing was installed") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want it to say %q", err, test.want)
			}
			checkUnchanged(t, before)
		})
	}
}

// limited is a user with all rights but the right to write policies.
func limited(t *testing.T) string {
	t.Helper()
	c, name := testenv.Client(t, nil), "limited-installer"
	groups := []string{
		"", "apiextensions.k8s.io", "rbac.authorization.k8s.io", "coordination.k8s.io", "authentication.k8s.io",
		"authorization.k8s.io", "apiregistration.k8s.io", "events.k8s.io",
	}
	all := []string{"*"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: groups, Resources: all, Verbs: all},
		{APIGroups: all, Resources: all, Verbs: []string{"get", "list", "watch"}},
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
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), obj); err != nil {
				t.Error(err)
			}
		})
	}
	testenv.AwaitRights(t, name, "", true, rbacv1.PolicyRule{
		Verbs: []string{"patch"}, APIGroups: []string{"apiextensions.k8s.io"},
		Resources: []string{"customresourcedefinitions"},
	})
	return name
}
