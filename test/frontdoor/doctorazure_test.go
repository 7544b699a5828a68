package frontdoor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/doctor"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// The kinds of TestDoctorAzure.
const (
	natGateways = "natgateways.microsoft.network.infra.azure.com"
	routeTables = "routetables.microsoft.network.infra.azure.com"
)

// enabledFindings returns the findings of doctor about definitions and rights, one line each, and the commands of
// `kinship azure` among their actions, in the order of the findings.
func enabledFindings(t *testing.T) (lines, commands []string) {
	t.Helper()
	report, err := doctor.Examine(t.Context(), unexamined(t), noTime)
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range report.Checks {
		for _, f := range check.Findings {
			if check.Name != "definitions" && check.Name != "rights" {
				continue
			}
			lines = append(lines, strings.TrimSpace(f.Reason+" "+f.Object.Name+" "+f.Field))
			if _, command, ok := strings.Cut(f.Action, "kinship azure enable "); ok {
				commands = append(commands, command)
			}
		}
	}
	slices.Sort(lines)
	return lines, commands
}

// TestDoctorAzure damages the definitions, the rights and the users' roles of enabled kinds of Azure, and the users'
// role of another pack. Doctor names each fault, and the commands in the findings repair the faults.
func TestDoctorAzure(t *testing.T) {
	o := optionsFor(t, "azure", "iot")
	o.Enforcement = "policy"
	o.WebhookHost = ""
	if err := install.Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	enable := func(args ...string) {
		t.Helper()
		if code, _, errOut := kinship(t, append([]string{"azure", "enable"}, args...)...); code != 0 {
			t.Fatalf("azure enable %q: %s", args, errOut)
		}
	}
	enable("Microsoft.Network/natGateways", "Microsoft.Network/routeTables")
	if found, _ := enabledFindings(t); len(found) > 0 {
		t.Fatalf("after the installation: %q", found)
	}
	damageAzure(t)
	want := []string{
		"DefinitionMissing " + routeTables,
		"NotServed " + natGateways + " spec.versions[" + versionOf(t, "Microsoft.Network/natGateways") + "].served",
		"RightMissing kinship-azure-kinds rules", // natgateways
		"RightMissing kinship-azure-kinds rules", // natgateways/status
		"RightMissing kinship-azure-kinds rules", // natgateways/finalizers
		"RightMissing kinship-azure-kinds rules", // ddosprotectionplans
		"RightMissing kinship-azure-kinds rules",
		"RightMissing kinship-azure-kinds rules",
		"RoleAltered kinship-azure-kinds-edit rules",
		"RoleAltered kinship-azure-kinds-edit rules", // of ddosprotectionplans
		"RoleMissing kinship-azure-kinds-view",
		"RoleAltered kinship-iot-edit metadata.labels[rbac.authorization.k8s.io/aggregate-to-edit]",
	}
	slices.Sort(want)
	found, commands := enabledFindings(t)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("findings after the damage (-want +got):\n%s", diff)
	}
	for _, command := range slices.Compact(slices.Sorted(slices.Values(commands))) {
		enable(strings.Fields(command)...)
	}
	found, _ = enabledFindings(t)
	left := []string{"RoleAltered kinship-iot-edit metadata.labels[rbac.authorization.k8s.io/aggregate-to-edit]"}
	if diff := cmp.Diff(left, found); diff != "" {
		t.Errorf("findings after the commands of the findings (-want +got):\n%s", diff)
	}
	checkNoBinding(t)
	removeAll(t)
}

// damageAzure damages each part of the enabled kinds once.
func damageAzure(t *testing.T) {
	t.Helper()
	c := operator.Client(t)
	name := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
	for _, obj := range []client.Object{
		&apiextensionsv1.CustomResourceDefinition{ObjectMeta: name(routeTables)},
		&rbacv1.ClusterRole{ObjectMeta: name("kinship-azure-kinds-view")},
	} {
		if err := c.Delete(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		testenv.Eventually(t, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
			if err == nil {
				return fmt.Errorf("%s exists", obj.GetName())
			}
			return client.IgnoreNotFound(err)
		})
	}
	gateways := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: name(natGateways)}
	change(t, c, gateways, func() { gateways.Spec.Versions[0].Served = false })
	without := func(role *rbacv1.ClusterRole) {
		for i, rule := range role.Rules {
			role.Rules[i].Resources = slices.DeleteFunc(rule.Resources, func(resource string) bool {
				return strings.HasPrefix(resource, "natgateways")
			})
		}
	}
	for _, role := range []string{"kinship-azure-kinds", "kinship-azure-kinds-edit"} {
		damaged := &rbacv1.ClusterRole{ObjectMeta: name(role)}
		change(t, c, damaged, func() { without(damaged) })
	}
	users := &rbacv1.ClusterRole{ObjectMeta: name("kinship-iot-edit")}
	change(t, c, users, func() { delete(users.Labels, "rbac.authorization.k8s.io/aggregate-to-edit") })
	// A definition that another tool applied, so that the operator has no rights to its kind.
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	crd, err := catalogue.CRD(all, []*catalogue.Kind{all.Default("Microsoft.Network/ddosProtectionPlans")})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
}

// checkNoBinding deletes the binding of the operator's rights: doctor tells once about the binding, not for each kind.
func checkNoBinding(t *testing.T) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "kinship-azure-kinds"}}
	if err := operator.Client(t).Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	found, _ := enabledFindings(t)
	found = slices.DeleteFunc(found, func(f string) bool { return strings.HasPrefix(f, "RoleAltered kinship-iot-edit") })
	if diff := cmp.Diff([]string{"BindingMissing kinship-azure-kinds"}, found); diff != "" {
		t.Errorf("findings without the binding (-want +got):\n%s", diff)
	}
}

// versionOf returns the version in which a type of Azure is enabled by default.
func versionOf(t *testing.T, armType string) string {
	t.Helper()
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return all.Default(armType).Version
}
