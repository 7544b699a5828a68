package install_test

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestNothingInstalled runs the operator in a cluster that was not prepared.
func TestNothingInstalled(t *testing.T) {
	before := snapshot(t)
	for _, enforcement := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		o := optionsFor(t)
		o.Enforcement = enforcement
		if err := run(t, o); !strings.Contains(err.Error(), "--install") {
			t.Errorf("by %s the error does not say what to do", enforcement)
		}
	}
	checkUnchanged(t, before)
}

// TestUnknown requests packs and enforcements that do not exist.
func TestUnknown(t *testing.T) {
	before := snapshot(t)
	for name, change := range map[string]func(*options.Options){
		"usage":  func(o *options.Options) { o.Packs = []string{"usage", "usages"} },
		"policy": func(o *options.Options) { o.Enforcement = "none" },
		"pod":    func(o *options.Options) { o.Iot.Identity = "aad" },
	} {
		o := optionsFor(t)
		o.Install = true
		change(&o)
		if err := run(t, o); !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s, which there is", name)
		}
	}
	checkUnchanged(t, before)
}

// elsewhere is the webhook of the published implementation, and a second webhook with an
// earlier name.
func elsewhere() *admissionregistrationv1.ValidatingWebhookConfiguration {
	webhook := func(name string) admissionregistrationv1.ValidatingWebhook {
		return admissionregistrationv1.ValidatingWebhook{
			Name: name, AdmissionReviewVersions: []string{"v1"},
			SideEffects:    new(admissionregistrationv1.SideEffectClassNone),
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{lockLabel: "true"}},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: "crossplane-system", Name: "crossplane-webhooks"},
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"},
				},
			}},
		}
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "crossplane-no-usages"},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			webhook("nousages.protection.crossplane.io"), webhook("nousages.apiextensions.crossplane.io"),
		},
	}
}

// TestForeign installs beside another release of the same API. The installation is refused
// without --adopt; with --adopt it works.
func TestForeign(t *testing.T) {
	testenv.ApplyFile(t, "../../config/crd/protection.crossplane.io_usages.yaml")
	testenv.ApplyFile(t, "../../config/crd/apiextensions.crossplane.io_usages.yaml")
	c := operator.Client(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "kinship-usage"}}
	for _, obj := range []client.Object{elsewhere(), role} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t)
	o := optionsFor(t)
	o.Install = true
	err := run(t, o)
	for _, name := range []string{
		"usages.protection.crossplane.io", "usages.apiextensions.crossplane.io", "crossplane-no-usages",
		"kinship-usage", "--adopt",
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s", name)
		}
	}
	checkUnchanged(t, before)

	adopted := operator.Start(t, func(o *options.Options) { o.Adopt = true })
	checkWorks(t, apierrors.IsConflict)
	var webhooks admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Get(t.Context(), client.ObjectKey{Name: "crossplane-no-usages"}, &webhooks); err != nil {
		t.Fatal(err)
	}
	for _, w := range webhooks.Webhooks {
		if w.ClientConfig.Service != nil {
			t.Errorf("webhook %s still asks the other release", w.Name)
		}
	}
	if err := adopted.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t)
}

// TestForeignRole installs with --namespaces where a Role of the pack's name exists, which kinship did
// not install. The installation is refused and names the Role, and the Role stays as it was.
func TestForeignRole(t *testing.T) {
	namespace := testenv.Namespace(t)
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kinship-usage"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}},
	}
	if err := operator.Client(t).Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t)
	o := optionsFor(t)
	o.Install, o.Packs, o.Namespaces = true, []string{"usage"}, []string{namespace}
	err := run(t, o)
	for _, text := range []string{"Role " + namespace + "/kinship-usage", "--adopt"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v does not name %s", err, text)
		}
	}
	checkUnchanged(t, before)
}

// TestInstallDowngrade installs an older release over a newer one. The older release is refused
// and writes nothing, unless --install-downgrade is set.
func TestInstallDowngrade(t *testing.T) {
	install := func(version string, changes ...func(*options.Options)) error {
		o := optionsFor(t)
		o.Install, o.Version, o.Packs = true, version, []string{"usage"}
		for _, change := range changes {
			change(&o)
		}
		return install.Install(t.Context(), o)
	}
	recorded := func() string {
		labels := everything(t)["customresourcedefinitions.apiextensions.k8s.io /usages.protection.crossplane.io"].Labels
		return labels["app.kubernetes.io/version"]
	}
	if err := install("v1.10.0"); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t)
	err := install("v1.9.3")
	if err == nil {
		t.Fatal("an older release was installed over a newer one")
	}
	for _, word := range []string{"v1.10.0", "v1.9.3", "--install-downgrade"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %s: %v", word, err)
		}
	}
	checkUnchanged(t, before)
	one := func(o *options.Options) { o.Packs = []string{"iot"} }
	if err := install("v1.9.3", one); err == nil {
		t.Error("an older release was installed over a newer one, with one pack")
	}
	// Releases that can't be compared replace each other.
	for _, version := range []string{"v1.10.0-3-g1a2b3c4", "dev", "v1.10.0"} {
		if err := install(version); err != nil {
			t.Errorf("install %s: %v", version, err)
		}
		if got := recorded(); got != version {
			t.Errorf("release %s recorded %q", version, got)
		}
	}
	if err := install("v1.9.3", func(o *options.Options) { o.Downgrade = true }); err != nil {
		t.Errorf("install an older release when told to: %v", err)
	}
	if got := recorded(); got != "v1.9.3" {
		t.Errorf("the definitions say release %q", got)
	}
	removeAll(t)
}

// TestUninstall removes an operator in the middle of its work: Usages of all kinds exist, one
// Usage waits for its using object, objects, namespaces and CustomResourceDefinitions are
// locked, and objects have finalizers of other controllers.
func TestUninstall(t *testing.T) {
	o := operator.Start(t, allPacks)
	c, namespace := operator.Client(t), testenv.Namespace(t)
	testenv.Eventually(t, func() error {
		_, err := testenv.TryApply(t, story, testenv.In(namespace))
		return err
	})
	outside := &protectionv1beta1.ClusterUsage{
		ObjectMeta: metav1.ObjectMeta{Name: "outside", Finalizers: []string{"example.com/theirs"}},
		Spec: sharedv1alpha1.UsageSpec{
			Of: sharedv1alpha1.Resource{APIVersion: "v1", Kind: "Secret", ResourceRef: &sharedv1alpha1.ResourceRef{
				Name: "using", Namespace: namespace,
			}},
			Reason: new("because"),
		},
	}
	if err := c.Create(t.Context(), outside); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return locked(t, namespace) })
	waiting := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "waiting"}}
	if err := c.Delete(t.Context(), waiting); err != nil {
		t.Fatal(err)
	}
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	// The owner of the finalizer removes it as soon as the object is being deleted.
	w, err := c.Watch(t.Context(), &protectionv1beta1.ClusterUsageList{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	kept := make(chan []string, 1)
	go func() {
		for event := range w.ResultChan() {
			u, ok := event.Object.(*protectionv1beta1.ClusterUsage)
			if ok && u.DeletionTimestamp != nil && len(u.Finalizers) > 0 {
				kept <- u.Finalizers
				u.Finalizers = nil
				_ = c.Update(t.Context(), u)
				return
			}
		}
	}()
	removeAll(t)
	if got := <-kept; !slices.Equal(got, []string{"example.com/theirs"}) {
		t.Errorf("when it was deleted the Usage had the finalizers %v, want only the foreign one", got)
	}
	used := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "used"}}
	if err := c.Delete(t.Context(), used); err != nil {
		t.Errorf("delete what was protected: %v", err)
	}
	removeAll(t) // There is nothing to do, and nothing wrong.
}

// TestUninstallOne removes one of several packs. The Deployments and resources of its objects
// are kept, and so are objects that other packs need.
func TestUninstallOne(t *testing.T) {
	o := operator.Start(t, func(o *options.Options) { o.Packs = []string{"usage", "iot"} })
	c, namespace := operator.Client(t), testenv.Namespace(t)
	testenv.Eventually(t, func() error {
		_, err := testenv.TryApply(t, story+connector, testenv.In(namespace))
		return err
	})
	lock := func() error { return isLocked(t, "ConfigMap", namespace, "used") }
	testenv.Eventually(t, lock)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hospital"}}
	testenv.Eventually(t, func() error { return c.Get(t.Context(), client.ObjectKeyFromObject(d), d) })
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	one := optionsFor(t)
	one.Packs = []string{"iot"}
	var said []string
	say := func(format string, args ...any) {
		said = append(said, fmt.Sprintf(format, args...))
	}
	err := uninstall.Uninstall(t.Context(), one, uninstall.Options{WithObjects: true, Say: say})
	if err != nil || !strings.Contains(strings.Join(said, "\n"), "leaving what the packs need that stay: usage") {
		t.Errorf("error %v, said %q", err, said)
	}
	testenv.Eventually(t, func() error {
		for name := range everything(t) {
			if strings.Contains(name, "iotconnector") || strings.HasSuffix(name, "/kinship-iot") {
				return fmt.Errorf("%s is left", name)
			}
		}
		return nil
	})
	uid := d.UID
	err = c.Get(t.Context(), client.ObjectKeyFromObject(d), d)
	if err != nil || d.UID != uid || len(d.OwnerReferences) > 0 {
		t.Errorf("error %v, Deployment %v: it was to stay, and to be nobody's", err, d.ObjectMeta)
	}
	left := everything(t)
	for _, name := range []string{
		"namespaces. /kinship-system", "serviceaccounts. kinship-system/kinship",
		"clusterroles.rbac.authorization.k8s.io /kinship", "clusterroles.rbac.authorization.k8s.io /kinship-usage",
		"customresourcedefinitions.apiextensions.k8s.io /referencegrants.kinship.dev",
		"validatingwebhookconfigurations.admissionregistration.k8s.io /crossplane-no-usages",
	} {
		if _, ok := left[name]; !ok {
			t.Errorf("%s is gone", name)
		}
	}
	if err := lock(); err != nil {
		t.Error(err)
	}
	removeAll(t)
}

const connector = `---
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
metadata: {name: hospital}
spec: {containers: [{type: Normalization, image: none}]}
`

const story = `
{apiVersion: v1, kind: ConfigMap, metadata: {name: used}}
---
{apiVersion: v1, kind: Secret, metadata: {name: using}}
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: waiting, labels: {crossplane.io/composite: x}}
spec:
  of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: used}}
  by: {apiVersion: v1, kind: Secret, resourceRef: {name: using}}
---
apiVersion: protection.crossplane.io/v1beta1
kind: Usage
metadata: {name: plain}
spec:
  of: {apiVersion: v1, kind: ServiceAccount, resourceRef: {name: default}}
  reason: because
`

// locked returns nil when every protected object is locked, and the namespace with it.
func locked(t *testing.T, namespace string) error {
	t.Helper()
	return errors.Join(isLocked(t, "ConfigMap", namespace, "used"), isLocked(t, "Secret", namespace, "using"),
		isLocked(t, "ServiceAccount", namespace, "default"), isLocked(t, "Namespace", "", namespace))
}

// TestPortTaken occupies the webhooks' port with another process.
func TestPortTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	port := listener.Addr().(*net.TCPAddr).Port
	o := optionsFor(t)
	o.Install, o.WebhookPort, o.Packs = true, port, []string{"usage"}
	err = run(t, o)
	for _, word := range []string{strconv.Itoa(port), "address already in use"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error does not say %q", word)
		}
	}
	removeAll(t)
}

// TestInstallAgain starts the operator twice. The second start writes nothing but the secret path of the webhooks,
// which is new at each start.
func TestInstallAgain(t *testing.T) {
	port := testenv.FreePort(t)
	samePort := func(o *options.Options) { o.WebhookPort = port }
	first := operator.Start(t, samePort, allPacks)
	checkWorks(t, apierrors.IsConflict)
	testenv.Eventually(t, func() error { return unlocked(t) })
	testenv.Eventually(t, func() error { return unruled(t) }) // Or the second would trim the rules.
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t)
	second := operator.Start(t, samePort, allPacks)
	after := snapshot(t)
	for name, version := range before {
		if strings.HasPrefix(name, "namespaces.") || strings.HasPrefix(name, "usages.") {
			continue // The objects of checkWorks are deleted by and by.
		}
		if strings.Contains(name, "webhookconfigurations.") || strings.HasSuffix(name, "/kinship-webhook-certificate") {
			continue // They have the path.
		}
		if after[name] != version {
			t.Errorf("%s was at version %s and is at %q", name, version, after[name])
		}
	}
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t)
}

// unruled returns nil when the API server asks about no deletion any more.
func unruled(t *testing.T) error {
	t.Helper()
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	if err := testenv.Client(t, nil).Get(t.Context(), client.ObjectKey{Name: "crossplane-no-usages"}, &c); err != nil {
		return err
	}
	for _, w := range c.Webhooks {
		if len(w.Rules) > 0 {
			return fmt.Errorf("webhook %s still has %d rules", w.Name, len(w.Rules))
		}
	}
	return nil
}

// unlocked returns nil when nothing is locked any more.
func unlocked(t *testing.T) error {
	t.Helper()
	for name, obj := range everything(t) {
		if _, ok := obj.Labels[lockLabel]; ok {
			return fmt.Errorf("%s is locked", name)
		}
	}
	return nil
}

// TestOtherEnforcement changes --enforcement, there and back. The objects of the other mode do
// not disturb.
func TestOtherEnforcement(t *testing.T) {
	for _, step := range []struct {
		by      pack.Enforcement
		refused func(error) bool
	}{
		{pack.ByPolicy, apierrors.IsForbidden},
		{pack.ByWebhook, apierrors.IsConflict},
		{pack.ByPolicy, apierrors.IsForbidden},
	} {
		o := operator.Start(t, func(o *options.Options) { o.Enforcement = step.by })
		checkWorks(t, step.refused)
		if err := o.Stop(); err != nil {
			t.Error(err)
		}
	}
	removeAll(t)
}

// TestOwnerPermissions has a user without the right to delete Usages create Usages, on an API
// server with the admission plugin OwnerReferencesPermissionEnforcement.
func TestOwnerPermissions(t *testing.T) {
	o := operator.Start(t)
	c, namespace := operator.Client(t), testenv.Namespace(t)
	name := metav1.ObjectMeta{Namespace: namespace, Name: "tenant"}
	used := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "used"}}
	using := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "using"}}
	for _, obj := range []client.Object{
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{
			{
				APIGroups: []string{"protection.crossplane.io"}, Resources: []string{"usages"},
				Verbs: []string{"create", "patch", "get"},
			},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"protect"}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: name, Subjects: []rbacv1.Subject{{Kind: "User", Name: namespace}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "tenant"},
		},
		used, using,
	} {
		if err := c.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	tenant := testenv.ClientFor(t, testenv.As(t, namespace), c.Scheme())
	named := func(kind, name string) sharedv1alpha1.Resource {
		return sharedv1alpha1.Resource{APIVersion: "v1", Kind: kind, ResourceRef: &sharedv1alpha1.ResourceRef{Name: name}}
	}
	usage := &protectionv1beta1.Usage{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "usage"},
		Spec:       sharedv1alpha1.UsageSpec{Of: named("ConfigMap", "used"), By: new(named("Secret", "using"))},
	}
	testenv.Eventually(t, func() error { return tenant.Create(t.Context(), usage) })
	testenv.Eventually(t, func() error { return isReady(t, c, usage) })
	label := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	if err := tenant.Patch(t.Context(), usage, label); err != nil {
		t.Errorf("change a label: %v", err)
	}
	if len(usage.OwnerReferences) != 1 {
		t.Errorf("the Usage has %d owners, want the using object", len(usage.OwnerReferences))
	}
	if err := c.Delete(t.Context(), using); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), used) })
	if err := o.Stop(); err != nil {
		t.Error(err)
	}
	removeAll(t)
}

// TestWithoutMutatingPolicies runs on an API server without MutatingAdmissionPolicy, such as
// before 1.36: there a request that removes the label is refused.
func TestWithoutMutatingPolicies(t *testing.T) {
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{
		WithoutPods: true,
		ExtraArgs: map[string][]string{localcluster.APIServer: {
			"--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false," +
				"admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings=false",
			"--disable-admission-plugins=MutatingAdmissionPolicy",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	first := operator.Start(t, func(o *options.Options) { o.Config = cluster.Config() })
	c := testenv.ClientFor(t, cluster.Config(), operator.Client(t).Scheme())
	used := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "used"}}
	usage := &protectionv1beta1.Usage{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "usage"},
		Spec: sharedv1alpha1.UsageSpec{
			Of: sharedv1alpha1.Resource{
				APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: "used"},
			},
			Reason: new("because"),
		},
	}
	if err := c.Create(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return c.Create(t.Context(), usage) })
	testenv.Eventually(t, func() error { return isReady(t, c, usage) })
	strip := func(patch string, options ...client.PatchOption) error {
		err := c.Patch(t.Context(), used.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), options...)
		if apierrors.IsForbidden(err) {
			return nil
		}
		return fmt.Errorf("%s: %w, want 403", patch, err)
	}
	const unlock = `{"metadata":{"labels":{"` + lockLabel + `":null}}}`
	// A policy takes effect a moment after its creation.
	testenv.Eventually(t, func() error { return strip(unlock, client.DryRunAll) })
	for _, patch := range []string{
		unlock, `{"metadata":{"labels":null}}`, `{"metadata":{"labels":{"` + lockLabel + `":"false"}}}`,
	} {
		if err := strip(patch); err != nil {
			t.Error(err)
		}
	}
	other := client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"b"}}`))
	if err := c.Patch(t.Context(), used.DeepCopy(), other); err != nil {
		t.Errorf("change something else: %v", err)
	}
	if err := c.Delete(t.Context(), used); !apierrors.IsConflict(err) {
		t.Errorf("deletion: %v, want a conflict", err)
	}
	if err := c.Delete(t.Context(), usage); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { return c.Delete(t.Context(), used) })
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	refusesFormerOwner(t, cluster, c)
	err = uninstall.Uninstall(t.Context(), options.Options{Config: cluster.Config()}, uninstall.Options{
		ForceLive: true, WithObjects: true, Say: t.Logf,
	})
	if err != nil {
		t.Errorf("uninstall: %v", err)
	}
}

// refusesFormerOwner uses --enforcement=policy, and creates a Usage as a backup has it. The
// garbage collector would delete the Usage, and no policy can remove its owner before that.
func refusesFormerOwner(t *testing.T, cluster *localcluster.Cluster, c client.Client) {
	t.Helper()
	operator.Start(t, func(o *options.Options) { o.Config, o.Enforcement = cluster.Config(), pack.ByPolicy })
	end := sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap", ResourceRef: &sharedv1alpha1.ResourceRef{Name: "using"},
	}
	restored := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "restored", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "ConfigMap", Name: "using", UID: "8e7b8f5e-0000-4000-8000-000000000000",
		}},
	}}
	restored.Spec.By, restored.Spec.Of = end.DeepCopy(), end
	restored.Spec.Of.ResourceRef = &sharedv1alpha1.ResourceRef{Name: "used"}
	testenv.Eventually(t, func() error { // A policy takes effect a moment after its creation.
		err := c.Create(t.Context(), restored.DeepCopy(), client.DryRunAll)
		if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "Restored: ") {
			return nil
		}
		return fmt.Errorf("answered with %w, want a refusal", err)
	})
	restored.OwnerReferences[0].Name = "other"
	if err := c.Create(t.Context(), restored, client.DryRunAll); err != nil {
		t.Errorf("another owner: %v", err)
	}
}
