package frontdoor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestEnableElsewhere: `kinship azure enable --namespaces` is refused, and writes nothing, if the operator that runs
// serves all namespaces. The Lease of that operator is written by hand.
func TestEnableElsewhere(t *testing.T) {
	c := operator.Client(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: options.Namespace}}
	if err := c.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: options.Namespace, Name: "kinship-running-elsewhere",
			Annotations: map[string]string{"kinship.dev/operator": `{"packs":["azure"]}`},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("somebody"), LeaseDurationSeconds: new(int32(3600)),
			RenewTime: &metav1.MicroTime{Time: time.Now()},
		},
	}
	if err := c.Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	code, _, errOut := kinship(t, "azure", "enable", "Microsoft.Network/natGateways", "--namespaces", "a")
	const want = "operator somebody (Lease kinship-running-elsewhere) serves all namespaces"
	if code == 0 || !strings.Contains(errOut, want) {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	err := c.Get(t.Context(), client.ObjectKey{Name: azure.RoleName}, &rbacv1.ClusterRole{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the ClusterRole was written: %v", err)
	}
	if err := c.Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { // Or the next test installs into a namespace that ends.
		err := c.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace)
		if err == nil {
			return fmt.Errorf("namespace %s is there", namespace.Name)
		}
		return client.IgnoreNotFound(err)
	})
}
