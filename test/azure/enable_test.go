package azure_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/install"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const gateways = "Microsoft.Network/natGateways"

// TestEnabledLater: a kind is served by the running operator as soon as it is enabled. It can't be disabled
// while it has objects, and can be enabled again.
func TestEnabledLater(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"), vnet("net", "rg"),
		subnet("front", "net", "natGateway: {kubernetes: {name: gate}}"))
	const waits = "False WaitingForReference Waiting for NatGateway/gate to be created: " +
		"the kind NatGateway.microsoft.network.infra.azure.com is not installed"
	w.says("subnet/front", waits)
	gateway := manifest(gateways, "gate", "rg", "location: westeurope")
	for range 2 {
		begin := time.Now()
		w.enable(gateways)
		w.apply(gateway)
		w.ready(gateways + ":gate")
		t.Logf("enabled, and an object Ready after %s", time.Since(begin))
		w.ready("subnet/front")
		err := packazure.Disable(t.Context(), w.C, kindsOf(gateways))
		if err == nil || !strings.Contains(err.Error(), "nothing was disabled, delete the objects first: NatGateway") {
			t.Fatalf("disable with an object: %v", err)
		}
		w.delete("subnet/front", gateways+":gate")
		w.gone("subnet/front", gateways+":gate")
		if err := packazure.Disable(t.Context(), w.C, kindsOf(gateways)); err != nil {
			t.Fatal(err)
		}
		if err := w.Read(definition(gateways)); !apierrors.IsNotFound(err) {
			t.Errorf("the definition after disable: %v", err)
		}
		w.apply(subnet("front", "net", "natGateway: {kubernetes: {name: gate}}"))
		w.says("subnet/front", waits)
	}
}

// definition is the CustomResourceDefinition of a kind, by its name.
func definition(kind string) *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName(kindOf(kind).Plural + "." + kindOf(kind).Group)
	return crd
}

// disable disables kinds as kinship azure disable does.
func (w *world) disable(types ...string) {
	w.T.Helper()
	if err := packazure.Disable(context.WithoutCancel(w.T.Context()), w.C, kindsOf(types...)); err != nil {
		w.T.Fatal(err)
	}
}

// TestKindWithoutRights: a definition that was applied by other means than enable, so that the operator has no
// rights to its kind, stops no other kind: not the kinds that are enabled later, nor their guards, nor those that
// an operator finds at its start. An object that refers to the kind names the missing right.
func TestKindWithoutRights(t *testing.T) {
	const plans = "Microsoft.Network/ddosProtectionPlans"
	w := newCloud(t, atOnce)
	t.Cleanup(func() { w.disable(plans, gateways) })
	first := operator.Start(t, w.options)
	t.Cleanup(w.tidyUp)
	crd, err := catalogue.CRD(all(), kindsOf(plans))
	if err != nil {
		t.Fatal(err)
	}
	w.Create(crd)
	stack := []string{
		group("rg"), vnet("net", "rg"), subnet("front", "net", "natGateway: {kubernetes: {name: gate}}"),
		manifest("vnet", "planned", "rg", "location: westeurope, ddosProtectionPlan: {kubernetes: {name: plan}}"),
	}
	for range 2 {
		w.apply(stack...)
		w.says("vnet/planned", "Waiting for DdosProtectionPlan/plan to be created: the operator may not read its kind: ")
		w.says("vnet/planned", `cannot list resource "ddosprotectionplans" in API group "microsoft.network.infra.azure.com"`)
		w.says("subnet/front", "Waiting for NatGateway/gate to be created")
		w.enable(gateways)
		w.apply(manifest(gateways, "gate", "rg", "location: westeurope"))
		w.ready("subnet/front")
		w.delete(gateways+":gate", "subnet/front")
		w.gone("subnet/front", gateways+":gate")
		if first == nil {
			break
		}
		if err := first.Stop(); err != nil {
			t.Fatal(err)
		}
		first = nil
		operator.Start(t, w.options)
		t.Cleanup(w.tidyUp)
	}
}

// TestOtherVersionLater: a kind that was disabled is served by the running operator in the version in which the kind
// is enabled next.
func TestOtherVersionLater(t *testing.T) {
	w := newPromptWorld(t)
	w.apply(group("rg"))
	versions := all().Versions(policies)
	for _, k := range []*catalogue.Kind{versions[0], versions[1], versions[0]} {
		if err := w.enableMatching(policies + "@" + k.APIVersion); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(manifest(policies, "policy", "rg", "location: westeurope"),
			"/"+kindOf(policies).Version, "/"+k.Version, 1)
		w.apply(text)
		testenv.Eventually(t, func() error {
			u := w.blank(policies, "policy")
			u.SetGroupVersionKind(k.GroupVersionKind())
			if err := w.Read(u); err != nil {
				return err
			}
			if says := readyOf(u); !strings.HasPrefix(says, "True") {
				return fmt.Errorf("in version %s: %s", k.Version, says)
			}
			return nil
		})
		err := packazure.Disable(t.Context(), w.C, kindsOf(policies)) // The default version.
		if err == nil || !strings.Contains(err.Error(), "delete the objects first: FirewallPolicy") {
			t.Fatalf("disable a kind that has an object in version %s: %v", k.Version, err)
		}
		u := w.blank(policies, "policy")
		u.SetGroupVersionKind(k.GroupVersionKind())
		w.Delete(u)
		w.Gone(u)
		w.disable(policies)
	}
}

// late creates an object just before the first definition is deleted.
type late struct {
	client.Client

	create func()
}

func (l *late) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if l.create != nil {
		l.create()
		l.create = nil
	}
	return l.Client.Delete(ctx, obj, options...)
}

// TestCreatedWhileDisabled: an object that is created while its kind is disabled goes with the kind, and so does its
// resource: the operator keeps the rights to the kind until then.
func TestCreatedWhileDisabled(t *testing.T) {
	w := newPromptWorld(t)
	w.enable(gateways)
	w.apply(group("rg"))
	w.ready("rg/rg")
	c := &late{Client: w.C, create: func() {
		w.apply(manifest(gateways, "gate", "rg", "location: westeurope"))
		w.ready(gateways + ":gate")
	}}
	if err := packazure.Disable(t.Context(), c, kindsOf(gateways)); err != nil {
		t.Fatal(err)
	}
	w.inCloud("rg")
	if w.mayList(gateways) {
		t.Error("the rights to the kind are left")
	}
}

// mayList reports whether the role of enabled kinds has a kind.
func (w *world) mayList(kind string) bool {
	w.T.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: packazure.RoleName}}
	if err := w.Read(role); err != nil {
		w.T.Fatal(err)
	}
	k := kindOf(kind)
	return slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, k.Group) && slices.Contains(r.Resources, k.Plural) &&
			slices.Contains(r.Verbs, "list")
	})
}

// TestOtherCatalogue: kinds that were enabled from one catalogue keep their rights when kinds of another catalogue
// are enabled and disabled.
func TestOtherCatalogue(t *testing.T) {
	w := newCloud(t, atOnce)
	definition, err := kindOf(gateways).Definition()
	if err != nil {
		t.Fatal(err)
	}
	other, err := catalogue.New([]catalogue.Entry{{Kind: *kindOf(gateways), Definition: definition}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	theirs := []*catalogue.Kind{other.Default(gateways)}
	if err := packazure.Enable(t.Context(), w.C, other, theirs, install.AzureGrant()); err != nil {
		t.Fatal(err)
	}
	for _, kind := range append([]string{gateways}, enabled...) {
		if !w.mayList(kind) {
			t.Errorf("no rights to %s after %s was enabled", kind, gateways)
		}
	}
	if err := packazure.Disable(t.Context(), w.C, theirs); err != nil {
		t.Fatal(err)
	}
	for _, kind := range enabled {
		if !w.mayList(kind) {
			t.Errorf("no rights to %s after %s was disabled", kind, gateways)
		}
	}
	if w.mayList(gateways) {
		t.Errorf("the rights to %s are left", gateways)
	}
}

// TestLostRole: enabling a kind gives the rights to all enabled kinds again after somebody deleted the ClusterRole.
func TestLostRole(t *testing.T) {
	w := newPromptWorld(t)
	t.Cleanup(func() { w.disable(gateways) })
	w.Delete(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: packazure.RoleName}})
	w.enable(gateways)
	for _, kind := range append([]string{gateways}, enabled...) {
		if !w.mayList(kind) {
			t.Errorf("no rights to %s", kind)
		}
	}
}

// TestWrongBinding: enable repairs a binding that somebody changed, and replaces the rights everywhere by those in
// the given namespaces.
func TestWrongBinding(t *testing.T) {
	w := newCloud(t, atOnce)
	t.Cleanup(func() { w.enable(enabled...) })
	meta := metav1.ObjectMeta{Name: packazure.RoleName}
	everywhere := &rbacv1.ClusterRoleBinding{ObjectMeta: meta}
	meta.Namespace = w.NS
	inNamespace := &rbacv1.RoleBinding{ObjectMeta: meta}
	grant, narrowed := install.AzureGrant(), 0
	grant.Narrowed = func() { narrowed++ }
	enable := func(subjects *[]rbacv1.Subject, binding client.Object) {
		t.Helper()
		if *subjects != nil {
			w.Update(binding, func() { *subjects = nil })
		}
		if err := packazure.Enable(t.Context(), w.C, all(), kindsOf(enabled...), grant); err != nil {
			t.Fatal(err)
		}
		if err := w.Read(binding); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]rbacv1.Subject{grant.Account}, *subjects); diff != "" {
			t.Errorf("subjects of %T (-want +got):\n%s", binding, diff)
		}
	}
	if err := w.Read(everywhere); err != nil {
		t.Fatal(err)
	}
	enable(&everywhere.Subjects, everywhere)
	grant.Namespaces = []string{w.NS}
	enable(&inNamespace.Subjects, inNamespace)
	enable(&inNamespace.Subjects, inNamespace)
	if err := w.Read(everywhere); !apierrors.IsNotFound(err) || narrowed != 1 {
		t.Errorf("the rights in all namespaces: %v, narrowed %d times", err, narrowed)
	}
}

// overtaken lets another client write before the first Update.
type overtaken struct {
	client.Client

	write func()
}

func (o *overtaken) Update(ctx context.Context, obj client.Object, options ...client.UpdateOption) error {
	if write := o.write; write != nil {
		o.write = nil
		write()
	}
	return o.Client.Update(ctx, obj, options...)
}

// TestEnabledTwiceAtOnce: two commands that enable kinds at the same time give the rights to the kinds of both.
func TestEnabledTwiceAtOnce(t *testing.T) {
	w := newCloud(t, atOnce)
	t.Cleanup(func() { w.disable(gateways, policies) })
	c := &overtaken{Client: w.C, write: func() { w.enable(gateways) }}
	if err := packazure.Enable(t.Context(), c, all(), kindsOf(policies), install.AzureGrant()); err != nil {
		t.Fatal(err)
	}
	users := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: packazure.RoleName + "-view"}}
	if err := w.Read(users); err != nil {
		t.Fatal(err)
	}
	for _, kind := range append([]string{gateways, policies}, enabled...) {
		if !w.mayList(kind) {
			t.Errorf("no rights to %s", kind)
		}
		if !slices.ContainsFunc(users.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.Resources, kindOf(kind).Plural)
		}) {
			t.Errorf("users have no rights to %s", kind)
		}
	}
}
