package security_test

import (
	"context"
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/options"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// azureCloud starts an emulated Azure that runs until the end of the test.
func azureCloud(t *testing.T) *emulator.Server {
	t.Helper()
	cloud, err := emulator.Start(emulator.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	return cloud
}

// resourceGroup is the kind of the tests of the azure pack.
func resourceGroup(t *testing.T) (*catalogue.Catalogue, []*catalogue.Kind) {
	t.Helper()
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return all, []*catalogue.Kind{all.Default(catalogue.ResourceGroupType)}
}

// enableGroups enables ResourceGroup until the end of the test.
func (l land) enableGroups() {
	l.T.Helper()
	all, kinds := resourceGroup(l.T)
	account := rbacv1.Subject{
		Kind: rbacv1.ServiceAccountKind, Namespace: options.Namespace, Name: options.AccountOf("azure"),
	}
	if err := packazure.Enable(l.T.Context(), l.C, all, kinds, packazure.Grant{Account: account}); err != nil {
		l.T.Fatal(err)
	}
	l.T.Cleanup(func() {
		ctx := context.WithoutCancel(l.T.Context())
		if err := packazure.Disable(ctx, l.C, kinds); err != nil {
			l.T.Error(err)
		}
		meta := metav1.ObjectMeta{Name: packazure.RoleName}
		given := []client.Object{&rbacv1.ClusterRole{ObjectMeta: meta}, &rbacv1.ClusterRoleBinding{ObjectMeta: meta}}
		for _, obj := range given {
			if err := client.IgnoreNotFound(l.C.Delete(ctx, obj)); err != nil {
				l.T.Error(err)
			}
		}
	})
}

// group is a ResourceGroup.
func (l land) group(name string) *unstructured.Unstructured {
	_, kinds := resourceGroup(l.T)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"location": "westeurope"}}}
	u.SetGroupVersionKind(kinds[0].GroupVersionKind())
	u.SetNamespace(l.NS)
	u.SetName(name)
	return u
}

// groups takes a ResourceGroup with credentials of its own through its life.
func (l land) groups() {
	l.T.Helper()
	l.enableGroups()
	secret := l.secret("principal")
	const guid = "11111111-2222-3333-4444-555555555555"
	secret.StringData = map[string]string{
		"AZURE_TENANT_ID": guid, "AZURE_CLIENT_ID": guid, "AZURE_SUBSCRIPTION_ID": guid, "AZURE_CLIENT_SECRET": "none",
	}
	group := l.group("it")
	group.Object["spec"].(map[string]any)["credentialsRef"] = map[string]any{"secretName": secret.Name}
	l.Create(secret)
	testenv.Eventually(l.T, func() error { return l.C.Create(l.T.Context(), group.DeepCopy()) }) // Served in a moment.
	testenv.Eventually(l.T, func() error {
		if err := l.Read(group); err != nil {
			return err
		}
		conditions, _, _ := unstructured.NestedSlice(group.Object, "status", "conditions")
		for _, one := range conditions {
			if c, _ := one.(map[string]any); c["type"] == "Ready" && c["status"] == "True" {
				return nil
			}
		}
		return fmt.Errorf("not Ready: %v", conditions)
	})
	l.Delete(group)
	l.Gone(group)
	l.Delete(secret)
}
