package security_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/doctor"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestMissingRight takes from the operator the right to list Networks. A Router, which needs a
// Network, names the missing right in a condition, and kinship doctor names it too; other kinds and
// packs start and run. When the right is given back, the Router goes on without a restart.
func TestMissingRight(t *testing.T) {
	if err := operator.Start(t, everyPack).Stop(); err != nil {
		t.Fatal(err)
	}
	l := newLand(t)
	taken := l.withoutRight("openstack.k-orc.cloud", "networks")
	address := operator.FreeAddress(t)
	o := operator.Start(t, everyPack, func(o *options.Options) {
		o.Install, o.Adopt, o.HealthAddress = false, false, address
	})

	l.Create(l.configMap("used"), l.secret("using"))
	u := l.usage("usage")
	l.Create(u)
	testenv.Eventually(t, func() error { return l.isReady(u) })
	l.connectorReconciles()
	// A Router needs Networks, an Image doesn't.
	l.uncredited("Router", "waits", "{externalGateways: [{networkRef: outside}]}")
	l.uncredited("Image", "runs", `{content: {diskFormat: raw, download: {url: "https://example.com/disk"}}}`)
	testenv.Eventually(t, func() error { return l.observed("Image", "runs") })
	testenv.Eventually(t, func() error { return l.says("Router", "waits", noRight) })
	checkDoctor(t)
	for _, told := range []string{"networks.openstack.k-orc.cloud is forbidden", "pack=openstack"} {
		if !strings.Contains(o.Log(), told) {
			t.Errorf("the log does not say %q", told)
		}
	}
	if failing := operator.Metrics(t, "kinship_watch_failing", "pack", "kind"); failing["openstack Network"] != 1 {
		t.Errorf("kinds that can't be watched: %v", failing)
	}
	if err := ready(t, address); err == nil {
		t.Error("readyz does not tell that a pack does not run")
	}

	l.giveBack(taken)
	testenv.EventuallyWithin(t, time.Minute, func() error {
		return l.says("Router", "waits", "Waiting for Network/outside to be created")
	})
	testenv.Eventually(t, func() error { return ready(t, address) })
	l.Delete(l.secret("using"), u)
}

// noRight is the API server's answer to an operator that may not list Networks.
const noRight = `networks.openstack.k-orc.cloud is forbidden: ` +
	`User "system:serviceaccount:kinship-system:kinship-openstack" cannot list resource "networks"`

// checkDoctor checks that kinship doctor names the missing right, the rights of users to Networks and the right to
// all kinds, which withoutRight takes too, and no other.
func checkDoctor(t *testing.T) {
	t.Helper()
	report, err := doctor.Examine(t.Context(), options.Options{Config: testenv.Config(t)}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, check := range report.Checks {
		if check.Name != "rights" {
			continue
		}
		for _, f := range check.Findings {
			got = append(got, fmt.Sprintf("%s %s %s: %s", f.Reason, f.Object, f.Field, f.Message))
		}
	}
	want := []string{
		"RightMissing ClusterRole.rbac.authorization.k8s.io/kinship-usage rules: " +
			"account kinship-usage may not get, list, watch, patch, delete *.*",
		"RightMissing ClusterRole.rbac.authorization.k8s.io/kinship-openstack rules: " +
			"account kinship-openstack may not list, watch, patch networks.openstack.k-orc.cloud",
		"RoleAltered ClusterRole.rbac.authorization.k8s.io/kinship-openstack-view rules: " +
			"users may not get, list, watch networks.openstack.k-orc.cloud by this role",
		"RoleAltered ClusterRole.rbac.authorization.k8s.io/kinship-openstack-edit rules: " +
			"users may not create, update, patch, delete, deletecollection networks.openstack.k-orc.cloud by this role",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("findings about rights (-want +got):\n%s", diff)
	}
}

// says returns nil if a condition of an object has a text.
func (l land) says(kind, name, text string) error {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("openstack.k-orc.cloud/v1alpha1")
	obj.SetKind(kind)
	if err := l.C.Get(l.T.Context(), client.ObjectKey{Namespace: l.NS, Name: name}, obj); err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil {
		return err
	}
	told := fmt.Sprint(conditions)
	if !strings.Contains(told, text) || text != noRight && strings.Contains(told, "forbidden") {
		return fmt.Errorf("%s %s says %s", kind, name, told)
	}
	return nil
}

// withoutRight takes one resource out of all of the operator's roles, and returns the
// roles as they were. A right to all kinds becomes a right to the kinds that the test needs.
func (l land) withoutRight(group, resource string) []rbacv1.ClusterRole {
	l.T.Helper()
	var roles rbacv1.ClusterRoleList
	if err := l.C.List(l.T.Context(), &roles, client.MatchingLabels{"app.kubernetes.io/part-of": "kinship"}); err != nil {
		l.T.Fatal(err)
	}
	changed := make([]rbacv1.ClusterRole, 0, len(roles.Items))
	for _, role := range roles.Items {
		before := role.DeepCopy()
		for i, rule := range role.Rules {
			if slices.Contains(rule.APIGroups, "*") {
				role.Rules[i].APIGroups = []string{"", "apps", "apiextensions.k8s.io", usageGroup}
			}
			if slices.Contains(rule.APIGroups, group) {
				kept := slices.DeleteFunc(slices.Clone(rule.Resources), func(r string) bool { return r == resource })
				role.Rules[i].Resources = kept
			}
		}
		if err := l.C.Update(l.T.Context(), &role); err != nil {
			l.T.Fatal(err)
		}
		changed = append(changed, *before)
	}
	if len(changed) == 0 {
		l.T.Fatal("the operator has no roles")
	}
	for _, user := range options.Operators() {
		l.awaitRights(user, false, right(group, resource, "list"))
	}
	return changed
}

func (l land) giveBack(roles []rbacv1.ClusterRole) {
	l.T.Helper()
	for _, role := range roles {
		role.ResourceVersion = ""
		if err := l.C.Update(l.T.Context(), &role); err != nil {
			l.T.Fatal(err)
		}
	}
}

// connectorReconciles waits until the iot pack has noticed an IotConnector.
func (l land) connectorReconciles() {
	l.T.Helper()
	testenv.Apply(l.T, `
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
metadata: {name: c}
spec:
  deployments: [{name: c-normalization, containers: [{name: main, image: "example.com/n:1", type: Normalization}]}]
`, testenv.In(l.NS))
	testenv.Eventually(l.T, func() error { return l.observed("IotConnector", "c") })
}

// uncredited makes an object of the openstack pack whose Secret does not exist.
func (l land) uncredited(kind, name, resource string) {
	l.T.Helper()
	testenv.Apply(l.T, fmt.Sprintf(`
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: %s
metadata: {name: %s}
spec:
  cloudCredentialsRef: {secretName: missing, cloudName: c}
  resource: %s
`, kind, name, resource), testenv.In(l.NS))
}

// observed returns nil if an object has conditions.
func (l land) observed(kind, name string) error {
	version := "openstack.k-orc.cloud/v1alpha1"
	switch kind {
	case "IotConnector":
		version = "services.azurehealthcareapis.com/v1alpha1"
	case "ApplicationConfiguration":
		version = "core.oam.dev/v1alpha2"
	}
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(version)
	obj.SetKind(kind)
	if err := l.C.Get(l.T.Context(), client.ObjectKey{Namespace: l.NS, Name: name}, obj); err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	if err != nil || len(conditions) == 0 {
		return errors.Join(err, fmt.Errorf("%s %s has no conditions", kind, name))
	}
	return nil
}

// ready asks the operator's readyz.
func ready(t *testing.T, address string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz answers %s", response.Status)
	}
	return nil
}
