package install_test

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	cloudazure "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/internal/uninstall"
	"github.com/kinship-dev/kinship/test/operator"
)

// enableAzure enables kinds for the account of the operator.
func enableAzure(t *testing.T, types ...string) []*catalogue.Kind {
	t.Helper()
	all, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]*catalogue.Kind, 0, len(types))
	for _, one := range types {
		kinds = append(kinds, all.Default(one))
	}
	if err := azure.Enable(t.Context(), operator.Client(t), all, kinds, install.AzureGrant()); err != nil {
		t.Fatal(err)
	}
	return kinds
}

const azureObjects = `
apiVersion: microsoft.resources.infra.azure.com/v20180501
kind: ResourceGroup
metadata: {name: kept}
spec: {location: westeurope}
---
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: VirtualNetwork
metadata: {name: net}
spec:
  ownerRef: {kubernetes: {name: kept}}
  location: westeurope
  addressSpace: {addressPrefixes: [10.0.0.0/16]}
---
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: VirtualNetwork
metadata: {name: waits}
spec:
  ownerRef: {kubernetes: {name: later}}
  location: westeurope
`

// TestUninstallAzure uninstalls the pack azure with kinds that were enabled: the definitions, the role and the
// binding are removed. Objects have to be named as with other packs, and the resources stay in Azure.
func TestUninstallAzure(t *testing.T) {
	cloud, err := emulator.Start(emulator.Options{RetryAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	o := operator.Start(t, func(o *options.Options) {
		o.Packs = []string{"azure"}
		o.Azure.Endpoint, o.Azure.Credential = cloud.URL(), cloudazure.NoCredential
		o.Azure.Subscription = "11111111-2222-3333-4444-555555555555"
	})
	kinds := enableAzure(t, "Microsoft.Resources/resourceGroups", "Microsoft.Network/virtualNetworks")
	namespace := testenv.Namespace(t)
	testenv.Apply(t, azureObjects, testenv.In(namespace))
	testenv.Eventually(t, func() error {
		net := &unstructured.Unstructured{}
		net.SetGroupVersionKind(kinds[1].GroupVersionKind())
		if err := operator.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "net"}, net); err != nil {
			return err
		}
		if id, _, _ := unstructured.NestedString(net.Object, "status", "id"); id == "" {
			return fmt.Errorf("the network has the status %v", net.Object["status"])
		}
		return nil
	})
	if err := o.Stop(); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t)
	_, err = try(t, uninstall.Options{})
	checkRefused(t, err, "1 resourcegroups.microsoft.resources.infra.azure.com",
		"2 virtualnetworks.microsoft.network.infra.azure.com", "--with-objects")
	said, err := try(t, uninstall.Options{DryRun: true})
	if err != nil {
		t.Error(err)
	}
	for _, line := range []string{
		"would delete ClusterRole kinship-azure-kinds", "would delete ClusterRoleBinding kinship-azure-kinds",
		"would delete CustomResourceDefinition virtualnetworks.microsoft.network.infra.azure.com",
		"virtualnetworks.microsoft.network.infra.azure.com; what they stand for stays in Azure",
		"would delete 2 virtualnetworks.microsoft.network.infra.azure.com with their definition",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("the plan does not say %q:\n%s", line, said)
		}
	}
	checkUnchanged(t, before)
	cloud.ResetCalls()
	removeAll(t)
	for _, k := range kinds {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		err := operator.Client(t).Get(t.Context(), client.ObjectKey{Name: k.Plural + "." + k.Group}, crd)
		if !apierrors.IsNotFound(err) {
			t.Errorf("the definition of %s: %v", k.Kind, err)
		}
	}
	if n := len(cloud.Inventory()); n != 2 || cloud.CallCount("") != 0 {
		t.Errorf("Azure has %d resources after %d requests, want 2 and none", n, cloud.CallCount(""))
	}
}
