package install_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/app"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// barred are Usages of and by a kind that the role does not have.
const barred = `
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: of}
spec: {of: {apiVersion: v1, kind: Service, resourceRef: {name: s}}, reason: it is precious}
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: by, labels: {crossplane.io/composite: c}}
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: m}}
  by: {apiVersion: v1, kind: Service, resourceRef: {name: s}}
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: by-all, labels: {crossplane.io/composite: c}}
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: m}}
  by: {apiVersion: v1, kind: Service, resourceSelector: {matchLabels: {a: b}, matchAll: true}}
`

// documented returns the narrow role of docs/security.md.
func documented(t *testing.T) *rbacv1.ClusterRole {
	t.Helper()
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "## Narrowing the role")
	_, rest, _ = strings.Cut(rest, "```yaml\n")
	rest, _, _ = strings.Cut(rest, "```")
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict([]byte(rest), role); err != nil || len(role.Rules) == 0 {
		t.Fatalf("docs/security.md has no role: %v", err)
	}
	return role
}

// TestNarrowRole: with the narrow role of the documents, what it names is protected, and
// what it does not name says so and can be deleted.
func TestNarrowRole(t *testing.T) {
	if err := operator.Start(t).Stop(); err != nil {
		t.Fatal(err)
	}
	c := operator.Client(t)
	if err := c.Update(t.Context(), documented(t)); err != nil {
		t.Fatal(err)
	}
	testenv.AwaitRights(t, app.OperatorOf("usage"), "", false, rbacv1.PolicyRule{
		Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"services"},
	})
	o := operator.Start(t, func(o *app.Options) { o.Install, o.Adopt = false, false })
	checkWorks(t, apierrors.IsConflict)

	namespace := testenv.Namespace(t)
	usages := testenv.Apply(t, barred, testenv.In(namespace))
	for _, u := range usages {
		testenv.Eventually(t, func() error { return waitsForRights(t, c, u) })
		if err := c.Delete(t.Context(), u); err != nil {
			t.Error(err)
		}
		testenv.Eventually(t, func() error {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(u), &protectionv1beta1.Usage{}); err == nil {
				return fmt.Errorf("Usage %s is still there", u.GetName())
			}
			return nil
		})
	}
	if err := o.Stop(); err != nil {
		t.Error(err)
	}
	uninstall(t)
}

// waitsForRights asks whether a Usage says what the operator may not do.
func waitsForRights(t *testing.T, c client.Client, usage client.Object) error {
	t.Helper()
	var u protectionv1beta1.Usage
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(usage), &u); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(u.Status.Conditions, "Ready")
	if ready == nil || ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "cannot list resource") {
		return fmt.Errorf("Usage %s is %+v", usage.GetName(), ready)
	}
	return nil
}
