package install_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/rights"
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

// narrow has the operator protect ConfigMaps alone. The wide role of an operator before
// becomes narrow.
func narrow(o *options.Options) {
	o.Usage.Kinds = []schema.GroupResource{{Resource: "configmaps"}}
	o.Usage.Using = []schema.GroupResource{{Group: "helm.crossplane.io", Resource: "releases"}}
}

// TestNarrowRole: with --kinds, objects of the named kinds are protected. A Usage of another
// kind has a reason, and its object can be deleted.
func TestNarrowRole(t *testing.T) {
	if err := operator.Start(t).Stop(); err != nil {
		t.Fatal(err)
	}
	c := operator.Client(t)
	o := operator.Start(t, narrow)
	testenv.AwaitRights(t, options.OperatorOf("usage"), "", false, rbacv1.PolicyRule{
		Verbs: []string{"list"}, APIGroups: []string{""}, Resources: []string{"services"},
	}, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}})
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
	removeAll(t)
}

// waitsForRights reports whether a Usage names the missing right of the operator.
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

// TestRightsExtended: an administrator applies what `kinship rights` prints, and an operator with
// narrow rights protects another kind without a restart. Before, the command names what is missing.
func TestRightsExtended(t *testing.T) {
	services := []schema.GroupResource{{Resource: "services"}}
	role, err := rights.KindRole("usage", rights.Kinds{Used: services})
	if err != nil {
		t.Fatal(err)
	}
	c := operator.Client(t)
	o := operator.Start(t, narrow)
	namespace := testenv.Namespace(t)
	service := testenv.Apply(t, `{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}`,
		testenv.In(namespace))[0]
	of, _, _ := strings.Cut(barred, "---")
	usage := testenv.Apply(t, of, testenv.In(namespace))[0]
	testenv.Eventually(t, func() error { return waitsForRights(t, c, usage) })
	err = rights.CheckRights(t.Context(), testenv.Config(t), "usage", "", role)
	for _, verb := range []string{"get", "list", "watch", "patch", "delete"} {
		if want := "kinship-usage may not " + verb + " services"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := c.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(c.Delete(context.WithoutCancel(t.Context()), role)); err != nil {
			t.Error(err)
		}
	})
	testenv.Eventually(t, func() error {
		return rights.CheckRights(t.Context(), testenv.Config(t), "usage", "", role)
	})
	testenv.EventuallyWithin(t, time.Minute, func() error { return isReady(t, c, usage) })
	if err := c.Delete(t.Context(), service); !apierrors.IsConflict(err) {
		t.Errorf("the deletion was answered with %v, want a refusal", err)
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Error(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), service) })
	// An installation leaves the rules that Kubernetes has put together.
	again := optionsFor(t)
	again.Install, again.Packs, again.Adopt, again.WebhookPort = true, []string{"usage"}, true, 9443
	narrow(&again)
	if err := o.Stop(); err != nil {
		t.Error(err)
	}
	if err := install.Install(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	if err := rights.CheckRights(t.Context(), testenv.Config(t), "usage", "", role); err != nil {
		t.Errorf("after an installation: %v", err)
	}
	if err := c.Delete(t.Context(), role); err != nil { // The role is the administrator's, and stays otherwise.
		t.Error(err)
	}
	removeAll(t)
}
