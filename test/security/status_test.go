package security_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// writtenByOthers are kinds whose statuses have fields of other controllers, with the reason why the
// operator does nothing in the name of such a status.
var writtenByOthers = map[string]string{
	"ApplicationConfiguration": "status.status and status.workloads[].status belong to other controllers. An object " +
		"that the status names is deleted only if the application is its controller, by uid",
}

// statusSpecs are specs of the kinds of the usage, iot and oam packs, and of the two kinds that
// resources leaves out.
var statusSpecs = map[string]string{
	"Usage":                 "{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: used%s}}, reason: precious}",
	"ClusterUsage":          "{of: {apiVersion: v1, kind: ConfigMap, resourceRef: {name: used%s}}, reason: precious}",
	"IotConnector":          "{containers: [{type: Normalization, image: none}]}",
	"Component":             "{workload: {apiVersion: v1, kind: ConfigMap}}",
	"ContainerizedWorkload": "{containers: [{name: a, image: none}]}",
	"ManualScalerTrait":     "{replicaCount: 1, workloadRef: {apiVersion: apps/v1, kind: Deployment, name: none}}",
	"HealthScope":           "{workloadRefs: []}",
	"IotConnectorRelease":   "{version: 1, selector: {matchLabels: {none: of-these}}}",
	"RouterInterface": "{cloudCredentialsRef: {secretName: cloud, cloudName: c}, type: Subnet, routerRef: it, " +
		"subnetRef: it}",
	"Image": "{cloudCredentialsRef: {secretName: cloud, cloudName: c}, managementPolicy: unmanaged, " +
		"import: {filter: {name: it}}}",
}

// TestStatusesAreTheOperators has a tenant with all rights in a namespace write the status of an
// object of every kind that a pack defines, such as the id of another tenant's Network. The accounts of the other packs
// try the same: an account may write what a tenant says in a Component. The kinds
// are read from the definitions, and the accounts from the packs, so that a new kind without a guard fails the test.
func TestStatusesAreTheOperators(t *testing.T) {
	for _, mode := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		t.Run(string(mode), func(t *testing.T) {
			every := options.Options{Packs: options.PackNames(), Enforcement: mode}
			operator.Start(t, func(o *options.Options) { o.Packs, o.Enforcement = every.Packs, mode })
			l := newLand(t)
			tenant := l.user("tenant")
			users := append(options.Operators(), tenant)
			for _, user := range users {
				l.allow(user, right("*", "*", "*"))
				l.allowEverywhere(user, right(usageGroup, "clusterusages/status", "update", "patch"),
					right("apiextensions.crossplane.io", "usages/status", "update", "patch"))
			}
			for _, crd := range definitions(t, every) {
				if writtenByOthers[crd.Spec.Names.Kind] != "" {
					continue
				}
				t.Run(crd.Name, func(t *testing.T) {
					l := l
					l.T = t
					l.statusRefused(users, crd)
				})
			}
		})
	}
}

// definitions returns the definitions of objects with a status that an installation has.
func definitions(t *testing.T, o options.Options) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	objects, err := install.Objects(o, true)
	if err != nil {
		t.Fatal(err)
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, obj := range objects {
		crd, ok := obj.(*apiextensionsv1.CustomResourceDefinition)
		if ok && hasStatus(crd) {
			all = append(all, crd)
		}
	}
	if len(all) < 30 {
		t.Fatalf("there are %d definitions, want those of all packs", len(all))
	}
	return all
}

func hasStatus(crd *apiextensionsv1.CustomResourceDefinition) bool {
	_, ok := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
	return ok
}

// accountOf returns the account of the pack that has a definition.
func accountOf(definition string) string {
	for _, p := range options.Packs(options.Options{}) {
		if slices.Contains(p.Definitions, definition) {
			return options.OperatorOf(p.Name)
		}
	}
	return ""
}

// statusRefused creates an object of a definition and has users write its status. Only the account of the pack may.
func (l land) statusRefused(users []string, crd *apiextensionsv1.CustomResourceDefinition) {
	l.T.Helper()
	obj := l.ofDefinition(crd)
	l.Create(obj)
	forged := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":[]}}`))
	for _, user := range users {
		testenv.Eventually(l.T, func() error { // The API server learns of policies by a watch.
			err := l.As(user).Status().Patch(l.T.Context(), obj.DeepCopy(), forged, client.DryRunAll)
			switch {
			case user == accountOf(crd.Name):
				return err
			case err == nil:
				return fmt.Errorf("%s may write the status", user)
			case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "only Kinship may write"):
				return fmt.Errorf("refused with other words: %w", err)
			}
			return nil
		})
	}
	if crd.Spec.Group == cloudGroup.Group {
		if err := l.C.Status().Patch(l.T.Context(), obj.DeepCopy(), forged, client.DryRunAll); err != nil {
			l.T.Errorf("an administrator of the cluster may not correct a status: %v", err)
		}
	}
	if err := client.IgnoreNotFound(l.C.Delete(l.T.Context(), obj)); err != nil {
		l.T.Error(err)
	}
}

// ofDefinition returns an object that the API server takes.
func (l land) ofDefinition(crd *apiextensionsv1.CustomResourceDefinition) *unstructured.Unstructured {
	l.T.Helper()
	kind := crd.Spec.Names.Kind
	text, known := statusSpecs[kind]
	if resource, ok := resources[kind]; ok {
		text, known = "{cloudCredentialsRef: {secretName: cloud, cloudName: c}, resource: "+resource+"}", true
	}
	if !known {
		l.T.Fatalf("no object of kind %s is known", kind)
	}
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(crd.Spec.Group + "/" + crd.Spec.Versions[0].Name)
	obj.SetKind(kind)
	obj.SetName(l.NS + "-status")
	inside := ""
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		obj.SetNamespace(l.NS)
	} else {
		inside = ", namespace: " + l.NS
	}
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "%s", inside)), &spec); err != nil {
		l.T.Fatal(err)
	}
	obj.Object["spec"] = spec
	return obj
}
