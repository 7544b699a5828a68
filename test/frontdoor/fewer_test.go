package frontdoor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/doctor"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/usage"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const connector = `
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
metadata: {name: c}
spec:
  deployments: [{name: c-normalization, containers: [{name: main, image: "example.com/n:1", type: Normalization}]}]
`

const network = `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: net}
spec: {cloudCredentialsRef: {secretName: missing, cloudName: c}, resource: {}}
`

// TestFewerPacks installs three packs, and then one of them. Requests that the guards of the others judged are not
// refused any more. An operator without --install may not remove the guards, and says how.
func TestFewerPacks(t *testing.T) {
	stop(t, operator.Start(t, packs("usage", "iot", "openstack")))
	namespace := testenv.Namespace(t)
	_, err := testenv.TryApply(t, connector, testenv.In(namespace))
	if err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Fatalf("without an operator an IotConnector is answered with %v, want a webhook that fails", err)
	}
	told := operator.Start(t, packs("usage"), func(o *options.Options) { o.Install, o.Adopt = false, false })
	for _, want := range []string{"Guards of a pack that no operator runs", "kinship uninstall --packs iot"} {
		if !strings.Contains(told.Log(), want) {
			t.Errorf("an operator without --install does not say %q", want)
		}
	}
	if found := examine(t, unexamined(t), noTime); !slices.ContainsFunc(found, func(f string) bool {
		return strings.HasPrefix(f, "PackNotRun ValidatingWebhookConfiguration.admissionregistration.k8s.io/kinship-iot")
	}) {
		t.Errorf("doctor does not name the webhook that no operator answers: %q", found)
	}
	stop(t, told)

	one := operator.Start(t, packs("usage"))
	for _, object := range testenv.Apply(t, connector+"---"+network, testenv.In(namespace)) {
		writeStatus(t, object)
		if err := operator.Client(t).Delete(t.Context(), object); err != nil {
			t.Errorf("delete %s: %v", object.GetKind(), err)
		}
	}
	asksForSecrets(t)
	if !strings.Contains(one.Log(), "Removed the guards of a pack that no operator runs") {
		t.Error("the log does not say that guards were removed")
	}
	healthy(t)
	stop(t, one)
	examinedWithoutOperator(t, "usage", false)
	keepsProtection(t)
	removeAll(t)
}

// asksForSecrets writes an object as a user who may not use the Secret that the object names. Without the policy that
// refuses this, the pack would send the content of the Secret to a cloud of the user as soon as the pack runs again.
func asksForSecrets(t *testing.T) {
	t.Helper()
	const name = "kinship-openstack-secrets"
	w := testenv.NewWorld(t, operator.Client(t))
	w.Exists( // The API server would follow a removed policy with a delay.
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("", name)},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta("", name)})
	poor := w.User("poor", right("create", schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks"}))
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(network), obj); err != nil {
		t.Fatal(err)
	}
	obj.SetNamespace(w.NS)
	if err := poor.Create(t.Context(), obj, client.DryRunAll); !apierrors.IsForbidden(err) ||
		!strings.Contains(err.Error(), "spec.cloudCredentialsRef.secretName") {
		t.Errorf("an object that names a Secret of others was answered with %v, want a refusal", err)
	}
}

// writeStatus writes a status as another operator of the same API would. Kinship's policies let only Kinship do that.
func writeStatus(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[]}}`))
	testenv.Eventually(t, func() error { // The API server follows its policies with a delay.
		return operator.Client(t).Status().Patch(t.Context(), object.DeepCopy(), patch)
	})
}

// keepsProtection drops the pack usage from the list while a Usage exists: the guards stay, and the object is still
// protected.
func keepsProtection(t *testing.T) {
	t.Helper()
	first := operator.Start(t, packs("usage"))
	objects := testenv.Apply(t, operator.Protected, testenv.In(testenv.Namespace(t)))
	precious, lock := objects[0], objects[1]
	refused := func() error {
		err := operator.Client(t).Delete(t.Context(), precious, client.DryRunAll)
		if err == nil || apierrors.IsNotFound(err) {
			return fmt.Errorf("the deletion was answered with %w, want a refusal", err)
		}
		return nil
	}
	testenv.Eventually(t, refused)
	stop(t, first)
	other := operator.Start(t, packs("iot"))
	if err := refused(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(other.Log(), "stay because objects of the pack exist") {
		t.Error("the log does not say why the guards of the pack usage stay")
	}
	stop(t, other)
	examinedWithoutOperator(t, "iot", true)
	again := operator.Start(t, packs("usage"))
	testenv.Eventually(t, func() error { return client.IgnoreNotFound(operator.Client(t).Delete(t.Context(), lock)) })
	testenv.Eventually(t, func() error { return client.IgnoreNotFound(operator.Client(t).Delete(t.Context(), precious)) })
	stop(t, again)
	examinedWithoutOperator(t, "usage", false)
}

// examinedWithoutOperator expects that doctor examines the pack of the last installation alone. Of other packs, doctor
// reports nothing but guards that stay.
func examinedWithoutOperator(t *testing.T, pack string, guarded bool) {
	t.Helper()
	report, err := doctor.Examine(t.Context(), unexamined(t), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{pack}, report.Packs); diff != "" {
		t.Errorf("examined packs (-want +got):\n%s", diff)
	}
	found := besides(t, examine(t, unexamined(t), time.Now()))
	stays := func(finding string) bool { return strings.HasPrefix(finding, "PackNotRun ") }
	if slices.ContainsFunc(found, stays) != guarded {
		t.Errorf("want guards that stay: %t, got %q", guarded, found)
	}
	if found = slices.DeleteFunc(found, stays); len(found) > 0 {
		t.Errorf("findings without an operator: %q", found)
	}
}

// TestIdlePolicies leaves out packs. Policies stay, with and without objects, so that an operator that runs the packs
// later believes no forged status.id. Webhook configurations, which no operator answers, are removed. While an operator
// with --leader-elect may be restarting, all stay.
func TestIdlePolicies(t *testing.T) {
	var log bytes.Buffer
	install := func(enforcement pack.Enforcement, packs ...string) string {
		t.Helper()
		log.Reset()
		o := optionsFor(t, packs...)
		o.Enforcement, o.WebhookPort = enforcement, testenv.FreePort(t)
		o.Log = funcr.New(func(prefix, args string) { fmt.Fprintln(&log, prefix, args) }, funcr.Options{})
		if err := install.Install(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return log.String()
	}
	webhook := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: meta("", "kinship-iot")}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("", "kinship-openstack-status")}
	intents := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("", "kinship-openstack-intents")}
	install(pack.ByPolicy, "usage", "iot", "openstack") // No webhook refuses the IotConnector.
	objects := testenv.Apply(t, connector+"---"+network, testenv.In(testenv.Namespace(t)))
	install(pack.ByWebhook, "usage", "iot", "openstack")

	lease := &coordinationv1.Lease{ObjectMeta: meta(options.Namespace, "kinship")}
	lease.Spec.RenewTime = new(metav1.NowMicro())
	if err := operator.Client(t).Create(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	if said := install(pack.ByWebhook, "usage"); !strings.Contains(said, "may be restarting") {
		t.Errorf("the log does not say that an operator may be restarting:\n%s", said)
	}
	exists(t, webhook, true)
	exists(t, policy, true)

	change(t, operator.Client(t), lease, func() {
		lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Now().Add(-time.Hour)))
	})
	if said := install(pack.ByWebhook, "usage"); !strings.Contains(said, "and its policies stay") {
		t.Errorf("the log does not say that policies of openstack stay:\n%s", said)
	}
	exists(t, webhook, false)
	exists(t, policy, true)

	for _, object := range objects {
		if err := operator.Client(t).Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	install(pack.ByWebhook, "usage")
	exists(t, policy, true)
	exists(t, intents, true)
	forgesStatus(t)
	removeAll(t)
}

// forgesStatus creates a Network while no operator runs the pack openstack, and writes a status.id as a tenant: an
// operator that runs the pack later would delete the resource of somebody else.
func forgesStatus(t *testing.T) {
	t.Helper()
	networks := schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks"}
	w := testenv.NewWorld(t, operator.Client(t))
	tenant := w.User("tenant", right("patch", networks),
		right("patch", schema.GroupResource{Group: networks.Group, Resource: "networks/status"}))
	object := testenv.Apply(t, network, testenv.In(w.NS))[0]
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"id":"forged"}}`))
	err := tenant.Status().Patch(t.Context(), object, patch)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only Kinship may write this status") {
		t.Errorf("a forged status.id was answered with %v, want a refusal", err)
	}
	if err := operator.Client(t).Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// exists checks whether an object exists.
func exists(t *testing.T, object client.Object, want bool) {
	t.Helper()
	err := operator.Client(t).Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if (err == nil) != want {
		t.Errorf("%T %s exists: %t, want %t", object, object.GetName(), err == nil, want)
	}
}

func packs(names ...string) func(*options.Options) {
	return func(o *options.Options) { o.Packs = names }
}

func stop(t *testing.T, o *operator.Operator) {
	t.Helper()
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
}

// TestUserRoles gives users Kubernetes' roles view, edit and admin in a namespace. They have them for the kinds of the
// packs too, but write no kind that concerns other namespaces.
func TestUserRoles(t *testing.T) {
	o := optionsFor(t, "usage", "openstack")
	o.WebhookPort = testenv.FreePort(t)
	if err := install.Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w := testenv.NewWorld(t, operator.Client(t))
	for _, role := range []string{"view", "edit", "admin"} {
		w.Create(binding(w.NS, role))
	}
	rows := []struct {
		user, verb string
		resource   schema.GroupResource
		want       bool
	}{
		{"view", "list", schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks"}, true},
		{"view", "create", schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks"}, false},
		{"edit", "create", schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks"}, true},
		{"edit", "delete", schema.GroupResource{Group: "protection.crossplane.io", Resource: "usages"}, true},
		{"edit", "override", schema.GroupResource{Group: "protection.crossplane.io", Resource: "usages"}, false},
		{"edit", "patch", schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks/status"}, false},
		{"edit", "create", schema.GroupResource{Group: "protection.crossplane.io", Resource: "clusterusages"}, false},
		{"view", "get", schema.GroupResource{Group: "kinship.dev", Resource: "referencegrants"}, true},
		{"edit", "create", schema.GroupResource{Group: "kinship.dev", Resource: "referencegrants"}, false},
		{"admin", "create", schema.GroupResource{Group: "kinship.dev", Resource: "referencegrants"}, true},
		{"admin", "create", schema.GroupResource{Group: "openstack.k-orc.cloud", Resource: "networks"}, true},
	}
	// No user has a right before the roles are aggregated: await the rights that users have first.
	for _, want := range []bool{true, false} {
		for _, row := range rows {
			if row.want == want {
				testenv.AwaitRights(t, row.user+"-of-"+w.NS, w.NS, want, right(row.verb, row.resource))
			}
		}
	}
	removeAll(t)
}

// TestLiftedBy takes the right to lift protection from Kubernetes' role edit, and from admin too. Users with edit may
// still create Usages. Doctor finds nothing missing.
func TestLiftedBy(t *testing.T) {
	w := testenv.NewWorld(t, operator.Client(t))
	for _, role := range []string{"edit", "admin"} {
		w.Create(binding(w.NS, role))
	}
	usages := schema.GroupResource{Group: "protection.crossplane.io", Resource: "usages"}
	for _, row := range []struct {
		by          usage.LiftedBy
		edit, admin bool
	}{{usage.LiftedByEdit, true, true}, {usage.LiftedByAdmin, false, true}, {usage.LiftedByNone, false, false}} {
		o := optionsFor(t, "usage")
		o.WebhookPort, o.Usage.LiftedBy = testenv.FreePort(t), row.by
		if err := install.Install(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for user, may := range map[string]bool{"edit": row.edit, "admin": row.admin} {
			testenv.AwaitRights(t, user+"-of-"+w.NS, w.NS, true, right("create", usages), right("list", usages))
			for _, verb := range []string{"delete", "patch", "update", "deletecollection"} {
				testenv.AwaitRights(t, user+"-of-"+w.NS, w.NS, may, right(verb, usages))
			}
		}
		if found, _ := enabledFindings(t); len(found) > 0 {
			t.Errorf("lifted by %s: doctor finds %q", row.by, found)
		}
	}
	removeAll(t)
}

// meta returns a name in a namespace.
func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// binding gives a user, who is called after the role and the namespace, one of Kubernetes' roles there.
func binding(namespace, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: meta(namespace, role),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: role + "-of-" + namespace}},
	}
}

func right(verb string, resource schema.GroupResource) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs: []string{verb}, APIGroups: []string{resource.Group}, Resources: []string{resource.Resource},
	}
}
