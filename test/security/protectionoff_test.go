package security_test

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// installer is a user with all rights, which a test takes away.
const installer = "kinship-test-installer"

// TestProtectionOff: the operator runs with --install, and then loses the right to write webhook
// configurations. The configuration that protects objects is deleted, and the operator can't restore it.
// The metric and one line of the log say so until the operator has the right again.
func TestProtectionOff(t *testing.T) {
	l := newLand(t)
	binding := func() *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: installer},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: installer}},
		}
	}
	l.Create(binding())
	o := operator.Start(t, func(o *options.Options) {
		o.Packs = []string{"usage"}
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Impersonate = rest.ImpersonationConfig{UserName: installer}
	})
	const guard = "ValidatingWebhookConfiguration crossplane-no-usages"
	awaitOff := func(want float64) {
		t.Helper()
		testenv.Eventually(t, func() error {
			if got := operator.Metrics(t, "kinship_protection_off", "guard")[guard]; got != want {
				return fmt.Errorf("kinship_protection_off of %s is %v, want %v", guard, got, want)
			}
			return nil
		})
	}
	awaitOff(0)
	l.Delete(binding())
	testenv.Eventually(t, func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: installer, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "patch", Group: admissionregistrationv1.GroupName, Resource: "validatingwebhookconfigurations",
			},
		}}
		if err := l.C.Create(t.Context(), review); err != nil {
			return err
		}
		if review.Status.Allowed {
			return fmt.Errorf("%s has the right still", installer)
		}
		return nil
	})
	deleted := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	deleted.Name = "crossplane-no-usages"
	l.Delete(deleted)
	awaitOff(1)
	l.Create(binding())
	awaitOff(0)
	if err := l.C.Get(t.Context(), client.ObjectKeyFromObject(deleted), deleted); err != nil {
		t.Errorf("the operator has not restored the configuration: %v", err)
	}
	log := o.Log()
	if n := strings.Count(log, `level=WARN msg="Protection is off"`); n != 1 ||
		!strings.Contains(log, "crossplane-no-usages missing: install it again, or run with --install") {
		t.Errorf("the log has %d lines about it, want one with the name", n)
	}
	if n := strings.Count(log, `msg="Guards can't be read or restored`); n > 1 {
		t.Errorf("the log says %d times why the configuration can't be restored, want once", n)
	}
	if !strings.Contains(log, "Protection is on again") {
		t.Error("the log does not say when protection is on again")
	}
	l.Delete(binding())
}
