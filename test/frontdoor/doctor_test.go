package frontdoor_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/doctor"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// examine returns the findings of `kinship doctor`, one line each.
func examine(t *testing.T, o options.Options, now time.Time) []string {
	t.Helper()
	report, err := doctor.Examine(t.Context(), o, now)
	if err != nil {
		t.Fatal(err)
	}
	findings := []string{}
	for _, check := range report.Checks {
		for _, f := range check.Findings {
			if f.Message == "" || f.Action == "" {
				t.Errorf("a finding without a message or an action: %+v", f)
			}
			findings = append(findings, strings.TrimSpace(f.Reason+" "+f.Object.String()+" "+f.Field))
		}
	}
	if report.Healthy != (len(findings) == 0) {
		t.Errorf("healthy is %t with findings %q", report.Healthy, findings)
	}
	slices.Sort(findings)
	return findings
}

// unexamined are options without anything that doctor finds out itself.
func unexamined(t *testing.T) options.Options {
	t.Helper()
	return options.Options{Config: testenv.Config(t), Version: "dev"}
}

// healthy waits until doctor finds nothing. The operator is ready a moment before all its writes are done.
func healthy(t *testing.T) {
	t.Helper()
	testenv.Eventually(t, func() error {
		if found := examine(t, unexamined(t), time.Now()); len(found) > 0 {
			return errors.New(strings.Join(found, "\n"))
		}
		return nil
	})
}

// noOperator are the findings of a sound installation without an operator.
var noOperator = []string{
	"NoOperator Lease.coordination.k8s.io/kinship in namespace kinship-system spec.renewTime",
	"Unreachable ",
}

// besides returns findings without those of noOperator.
func besides(t *testing.T, found []string) []string {
	t.Helper()
	for _, prefix := range noOperator {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, prefix) }) {
			t.Errorf("no finding %q in %q", prefix, found)
		}
	}
	return slices.DeleteFunc(found, func(f string) bool {
		return slices.ContainsFunc(noOperator, func(prefix string) bool { return strings.HasPrefix(f, prefix) })
	})
}

// TestDoctor damages each part of an installation, and doctor names the part. After an installation and with
// an operator, doctor finds nothing.
func TestDoctor(t *testing.T) {
	bare := []string{"NotInstalled Namespace/kinship-system", "NoOperator " + noOperator[0][len("NoOperator "):]}
	slices.Sort(bare)
	if diff := cmp.Diff(bare, examine(t, unexamined(t), time.Now())); diff != "" {
		t.Errorf("findings in a cluster without an installation (-want +got):\n%s", diff)
	}
	packs := func(o *options.Options) { o.Packs, o.LeaderElect = []string{"usage", "iot"}, true }
	o := operator.Start(t, packs)
	healthy(t)
	for _, args := range [][]string{{"doctor"}, {"doctor", "-o", "json"}, {"doctor", "-o", "yaml"}} {
		if code, out, errOut := kinship(t, args...); code != 0 || !strings.Contains(out, "usage") || errOut != "" {
			t.Errorf("%q: code %d\n%s%s", args, code, out, errOut)
		}
	}
	examineUnseen(t)
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	if found := besides(t, examine(t, unexamined(t), time.Now())); len(found) > 0 {
		t.Errorf("without an operator: %q", found)
	}
	damage(t)
	want := []string{
		"AccountMissing ServiceAccount/kinship-iot in namespace kinship-system",
		"BindingMissing ClusterRoleBinding.rbac.authorization.k8s.io/kinship-usage-kinds",
		"BindingAltered ClusterRoleBinding.rbac.authorization.k8s.io/kinship subjects",
		"CABundleWrong ValidatingWebhookConfiguration.admissionregistration.k8s.io/kinship-usage " +
			"webhooks[validate.usage.kinship.dev].clientConfig.caBundle",
		"PathWrong ValidatingWebhookConfiguration.admissionregistration.k8s.io/kinship-usage " +
			"webhooks[validate.usage.kinship.dev].clientConfig.url",
		"DefinitionAltered CustomResourceDefinition.apiextensions.k8s.io/" +
			"iotconnectorreleases.services.azurehealthcareapis.com spec.versions[v1alpha1].schema",
		"DefinitionMissing CustomResourceDefinition.apiextensions.k8s.io/referencegrants.kinship.dev",
		"GuardAltered ValidatingWebhookConfiguration.admissionregistration.k8s.io/kinship-iot webhooks",
		"GuardMissing ValidatingAdmissionPolicy.admissionregistration.k8s.io/kinship-usage-keep-secrets",
		"RightMissing ClusterRole.rbac.authorization.k8s.io/kinship-iot rules",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, besides(t, examine(t, unexamined(t), time.Now()))); diff != "" {
		t.Errorf("findings after the damage (-want +got):\n%s", diff)
	}
	code, out, errOut := kinship(t, "doctor")
	if code != 1 || !strings.Contains(out, "account kinship-iot may not patch deployments.apps") || errOut != "" {
		t.Errorf("code %d, want 1 and the missing right:\n%s%s", code, out, errOut)
	}
	machineReadable(t)
	o = operator.Start(t, packs)
	healthy(t)
	checkTimes(t)
	stop(t, o)
	removeAll(t)
	for args, want := range map[string]string{
		"-o=xml": "there are text, json, yaml", "extra": "Usage: kinship doctor", "--using-kinds=a.b": "needs --kinds",
	} {
		if code, _, errOut := kinship(t, "doctor", args); code != 2 || !strings.Contains(errOut, want) {
			t.Errorf("%s: code %d, %s", args, code, errOut)
		}
	}
}

// examineUnseen examines the installation as a user who may read everything but webhook configurations and policies:
// doctor names each of these guards as not checked.
func examineUnseen(t *testing.T) {
	t.Helper()
	const user = "without-guards"
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{{
		Verbs:     []string{"get", "list"},
		APIGroups: []string{"", coordinationv1.GroupName, rbacv1.GroupName, apiextensionsv1.GroupName},
		Resources: []string{rbacv1.ResourceAll},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := operator.Client(t).Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := operator.Client(t).Delete(contextOf(t), obj); err != nil {
				t.Error(err)
			}
		})
	}
	testenv.AwaitRights(t, user, options.Namespace, true, right("list", schema.GroupResource{
		Group: coordinationv1.GroupName, Resource: "leases",
	}))
	found := examine(t, options.Options{Config: testenv.As(t, user), Version: "dev"}, time.Now())
	for _, guard := range []string{
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io/kinship-iot",
		"ValidatingWebhookConfiguration.admissionregistration.k8s.io/kinship-usage",
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io/kinship-usage-keep-secrets",
	} {
		if !slices.Contains(found, "NotChecked "+guard) {
			t.Errorf("doctor does not say that %s was not checked: %q", guard, found)
		}
	}
	if slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, "Guard") }) {
		t.Errorf("doctor judges guards that the user may not read: %q", found)
	}
}

// machineReadable reads the output for programs.
func machineReadable(t *testing.T) {
	t.Helper()
	code, out, errOut := kinship(t, "doctor", "-o", "json")
	var report doctor.Diagnosis
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 1 || report.Healthy || len(report.Checks) == 0 {
		t.Errorf("code %d, %v: %s%s", code, err, out, errOut)
	}
}

// checkTimes examines the certificate as if time had passed.
func checkTimes(t *testing.T) {
	t.Helper()
	const day = 24 * time.Hour
	for after, reason := range map[time.Duration]string{80 * day: "CertificateEndsSoon ", 100 * day: "CertificateEnded "} {
		found := examine(t, unexamined(t), time.Now().Add(after))
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, reason+"Secret/") }) {
			t.Errorf("after %s: no %s in %q", after, reason, found)
		}
	}
}

// damage damages each part of the installation once.
func damage(t *testing.T) {
	t.Helper()
	c := operator.Client(t)
	name := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	for _, obj := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: options.Namespace, Name: "kinship-iot"}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: name("kinship-usage-kinds")},
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: name("referencegrants.kinship.dev")},
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: name("kinship-usage-keep-secrets")},
	} {
		if err := c.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: name("kinship")}
	change(t, c, binding, func() { binding.Subjects[0].Name = "other" })
	role := &rbacv1.ClusterRole{ObjectMeta: name("kinship-iot")}
	change(t, c, role, func() {
		for i, rule := range role.Rules {
			if slices.Contains(rule.Resources, "deployments") {
				role.Rules[i].Verbs = slices.DeleteFunc(rule.Verbs, func(verb string) bool { return verb == "patch" })
			}
		}
	})
	iot := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name("kinship-iot")}
	change(t, c, iot, func() { iot.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore) })
	usage := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name("kinship-usage")}
	change(t, c, usage, func() {
		config := &usage.Webhooks[0].ClientConfig
		config.CABundle = nil
		config.URL = new((*config.URL)[:strings.LastIndex(*config.URL, "/")])
	})
	definition := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: name("iotconnectorreleases.services.azurehealthcareapis.com"),
	}
	change(t, c, definition, func() {
		properties := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
		status := properties["status"]
		status.Description = "altered"
		properties["status"] = status
	})
	testenv.AwaitRights(t, options.OperatorOf("iot"), "default", false,
		rbacv1.PolicyRule{Verbs: []string{"patch"}, APIGroups: []string{"apps"}, Resources: []string{"deployments"}})
	testenv.Eventually(t, func() error {
		grants := &apiextensionsv1.CustomResourceDefinition{}
		err := c.Get(t.Context(), client.ObjectKey{Name: "referencegrants.kinship.dev"}, grants)
		if client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the definition is still there: %w", err)
		}
		return nil
	})
}

// change reads an object, changes it and writes it.
func change(t *testing.T, c client.Client, obj client.Object, change func()) {
	t.Helper()
	testenv.Eventually(t, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change()
		return c.Update(t.Context(), obj)
	})
}
