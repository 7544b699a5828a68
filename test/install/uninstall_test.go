package install_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
	"github.com/kinship-dev/kinship/test/operator"
)

// try uninstalls with some options, and returns the output and the error.
func try(t *testing.T, u uninstall.Options) (string, error) {
	t.Helper()
	var said []string
	u.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	err := uninstall.Uninstall(t.Context(), optionsFor(t), u)
	return strings.Join(said, "\n"), err
}

// checkRefused checks that nothing was uninstalled, and for which reasons.
func checkRefused(t *testing.T, err error, reasons ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was uninstalled, want an error")
	}
	for _, reason := range reasons {
		if !strings.Contains(err.Error(), reason) {
			t.Errorf("the error does not say %q: %v", reason, err)
		}
	}
}

// TestUninstallRefused uninstalls beside a live operator, and while objects exist. The command
// changes nothing without --force-live or --with-objects, nor with --dry-run.
func TestUninstallRefused(t *testing.T) {
	o := operator.Start(t, func(o *options.Options) { o.Packs = []string{"usage"} })
	k := protect(t)
	testenv.Eventually(t, func() error { return present(t) })
	before := snapshot(t)
	_, err := try(t, uninstall.Options{})
	checkRefused(t, err, "an operator is running", "--force-live", "1 usages.protection.crossplane.io", "--with-objects")
	_, err = try(t, uninstall.Options{WithObjects: true})
	checkRefused(t, err, "an operator is running")
	checkUnchanged(t, before)
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err = try(t, uninstall.Options{})
	checkRefused(t, err, "1 usages.protection.crossplane.io", "--with-objects")
	if strings.Contains(err.Error(), "--force-live") {
		t.Errorf("an operator that was stopped counts as running: %v", err)
	}
	before = snapshot(t)
	said, err := try(t, uninstall.Options{DryRun: true})
	if err != nil {
		t.Error(err)
	}
	for _, word := range []string{
		"would be refused: ", "would take label " + lockLabel + " off 1 configmaps",
		"would take finalizers off 1 usages.protection.crossplane.io",
		"would delete ValidatingWebhookConfiguration crossplane-no-usages",
		"would delete CustomResourceDefinition usages.protection.crossplane.io",
		"would delete 1 usages.protection.crossplane.io with their definition",
	} {
		if !strings.Contains(said, word) {
			t.Errorf("the plan does not say %q:\n%s", word, said)
		}
	}
	checkUnchanged(t, before)
	if err := k.c.Delete(t.Context(), k.precious); err == nil {
		t.Error("after refusals and a dry run nothing protects any more")
	}
	removeAll(t)
}

// present returns nil when the Lease of a running operator exists.
func present(t *testing.T) error {
	t.Helper()
	for name := range everything(t) {
		if strings.HasPrefix(name, "leases.coordination.k8s.io kinship-system/kinship-running-") {
			return nil
		}
	}
	return errors.New("no operator says that it runs")
}

// silentWebhook returns the address of a server that accepts connections and never answers.
func silentWebhook(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return "https://" + listener.Addr().String()
}

// gadgets is a definition with two versions, between which a webhook converts that does
// not answer.
func gadgets(address string) *apiextensionsv1.CustomResourceDefinition {
	version := func(name string, storage bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: true, Storage: storage,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
		}
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v2", false)},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ConversionReviewVersions: []string{"v1"},
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &address},
				},
			},
		},
	}
}

// TestUninstallUnreadable uninstalls beside objects of another kind that can't be read, because
// their conversion webhook does not answer. The kind is named and left out, and everything else
// is removed.
func TestUninstallUnreadable(t *testing.T) {
	o := operator.Start(t, func(o *options.Options) { o.Packs = []string{"usage"} })
	k := protect(t)
	definition := gadgets(silentWebhook(t))
	if err := k.c.Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	gadget := &unstructured.Unstructured{}
	gadget.SetGroupVersionKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"})
	gadget.SetNamespace(k.precious.GetNamespace())
	gadget.SetName("unreadable")
	gadget.SetLabels(map[string]string{lockLabel: "true"})
	testenv.Eventually(t, func() error { return client.IgnoreAlreadyExists(k.c.Create(t.Context(), gadget)) })
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	said, err := try(t, uninstall.Options{WithObjects: true, Timeout: time.Second})
	if err != nil {
		t.Errorf("uninstall: %v", err)
	}
	for _, word := range []string{"skipping gadgets.example.com", "label " + lockLabel + " may be left"} {
		if !strings.Contains(said, word) {
			t.Errorf("nothing says %q:\n%s", word, said)
		}
	}
	// Unreadable objects are deleted with their CustomResourceDefinition, without conversion.
	definition.Spec.Conversion = nil
	testenv.Eventually(t, func() error {
		if err := k.c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
			return client.IgnoreNotFound(err)
		}
		definition.Spec.Conversion = nil
		if err := k.c.Update(t.Context(), definition); err != nil {
			return err
		}
		return k.c.Delete(t.Context(), definition)
	})
	testenv.Eventually(t, func() error {
		if err := k.c.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the definition is still there: %w", err)
		}
		return nil
	})
	testenv.Eventually(t, func() error { return checkNothingLeft(t) })
	if err := k.c.Delete(t.Context(), k.precious); err != nil {
		t.Errorf("delete what was protected: %v", err)
	}
}

// TestUninstallGuarded uninstalls when the operator does not run, and a policy keeps a label
// from being removed: webhooks and policies are kept.
func TestUninstallGuarded(t *testing.T) {
	o := operator.Start(t, func(o *options.Options) { o.Packs = []string{"usage"} })
	k := protect(t)
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	policy := refuseConfigMaps()
	for _, obj := range policy {
		if err := k.c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	label := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	testenv.Eventually(t, func() error {
		err := k.c.Patch(t.Context(), k.precious, label, client.DryRunAll)
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("a change of the ConfigMap was answered with %w", err)
		}
		return nil
	})
	_, err := try(t, uninstall.Options{WithObjects: true})
	checkRefused(t, err, "the guards were left in place", "label "+lockLabel)
	left := everything(t)
	for _, name := range []string{
		"validatingwebhookconfigurations.admissionregistration.k8s.io /crossplane-no-usages",
		"validatingwebhookconfigurations.admissionregistration.k8s.io /kinship-usage",
		"customresourcedefinitions.apiextensions.k8s.io /usages.protection.crossplane.io",
	} {
		if _, ok := left[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
	for _, obj := range slices.Backward(policy) {
		if err := k.c.Delete(t.Context(), obj); err != nil {
			t.Error(err)
		}
	}
	testenv.Eventually(t, func() error { return k.c.Patch(t.Context(), k.precious, label, client.DryRunAll) })
	removeAll(t)
}

// refuseConfigMaps creates a policy that refuses every change of a ConfigMap.
func refuseConfigMaps() []client.Object {
	name, fail := metav1.ObjectMeta{Name: "no-changes"}, admissionregistrationv1.Fail
	return []client.Object{
		&admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: name,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: &fail,
				MatchConstraints: &admissionregistrationv1.MatchResources{
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionregistrationv1.RuleWithOperations{
							Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
							Rule: admissionregistrationv1.Rule{
								APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"configmaps"},
							},
						},
					}},
				},
				Validations: []admissionregistrationv1.Validation{{
					Expression: "false", Reason: new(metav1.StatusReasonForbidden),
				}},
			},
		},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: name,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName:        name.Name,
				ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		},
	}
}
