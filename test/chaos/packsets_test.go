package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	cloudazure "github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/test/operator"
)

// oamSet is the part of a set of a fleet for the pack oam. ApplicationConfiguration app-N makes ContainerizedWorkload
// item-N, which has a Deployment and a Service, and ManualScalerTrait scaler-N, which scales the Deployment. The
// workload joins HealthScope health-N, and leaves it before app-N is gone.
const oamSet = `
apiVersion: core.oam.dev/v1alpha2
kind: HealthScope
metadata: {name: health-%[1]d}
spec: {workloadRefs: []}
---
apiVersion: core.oam.dev/v1alpha2
kind: Component
metadata: {name: item-%[1]d}
spec:
  workload:
    apiVersion: core.oam.dev/v1alpha2
    kind: ContainerizedWorkload
    spec: {containers: [{name: item, image: 'example.com/i:1', ports: [{name: http, containerPort: 80}]}]}
---
apiVersion: core.oam.dev/v1alpha2
kind: ApplicationConfiguration
metadata: {name: app-%[1]d}
spec:
  components:
    - componentName: item-%[1]d
      traits:
        - trait:
            apiVersion: core.oam.dev/v1alpha2
            kind: ManualScalerTrait
            metadata: {name: scaler-%[1]d}
            spec: {replicaCount: 0}
      scopes: [{scopeRef: {apiVersion: core.oam.dev/v1alpha2, kind: HealthScope, name: health-%[1]d}}]
`

// azureSet is the part of a set of a fleet for the pack azure.
const azureSet = `
apiVersion: microsoft.resources.infra.azure.com/v20180501
kind: ResourceGroup
metadata: {name: group-%[1]d}
spec: {location: westeurope, credentialsRef: {secretName: azure}}
---
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: VirtualNetwork
metadata: {name: vnet-%[1]d}
spec: {location: westeurope, credentialsRef: {secretName: azure}, ownerRef: {kubernetes: {name: group-%[1]d}},
  addressSpace: {addressPrefixes: [10.0.0.0/16]}}
---
apiVersion: microsoft.network.infra.azure.com/v20200301
kind: VirtualNetworksSubnet
metadata: {name: subnet-%[1]d}
spec: {credentialsRef: {secretName: azure}, ownerRef: {kubernetes: {name: vnet-%[1]d}}, addressPrefix: 10.0.1.0/24}
`

// oamDefinitions are the definitions of the kinds in oamSet.
const oamDefinitions = `
apiVersion: core.oam.dev/v1alpha2
kind: WorkloadDefinition
metadata: {name: containerizedworkloads.core.oam.dev}
spec:
  definitionRef: {name: containerizedworkloads.core.oam.dev}
  childResourceKinds: [{apiVersion: apps/v1, kind: Deployment}, {apiVersion: v1, kind: Service}]
---
apiVersion: core.oam.dev/v1alpha2
kind: TraitDefinition
metadata: {name: manualscalertraits.core.oam.dev}
spec: {workloadRefPath: spec.workloadRef, definitionRef: {name: manualscalertraits.core.oam.dev}}
---
apiVersion: core.oam.dev/v1alpha2
kind: ScopeDefinition
metadata: {name: healthscopes.core.oam.dev}
spec:
  workloadRefsPath: spec.workloadRefs
  allowComponentOverlap: true
  definitionRef: {name: healthscopes.core.oam.dev}
`

// define creates the definitions of oamSet, which all tests share.
func (f *fleet) define() {
	f.t.Helper()
	for text := range strings.SplitSeq(oamDefinitions, "---\n") {
		obj, err := decode(text)
		if err != nil {
			f.t.Fatal(err)
		}
		err = f.insist(func(ctx context.Context) error { return ignoreExists(f.c.Create(ctx, obj.DeepCopy())) })
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// applicationLists returns lists of all kinds in oamSet, and of those that an application makes, but Deployments.
func applicationLists() []client.ObjectList {
	return []client.ObjectList{
		&oamv1alpha2.ApplicationConfigurationList{}, &oamv1alpha2.ComponentList{}, &oamv1alpha2.HealthScopeList{},
		&oamv1alpha2.ContainerizedWorkloadList{}, &oamv1alpha2.ManualScalerTraitList{}, &corev1.ServiceList{},
	}
}

// applied returns the differences of n sets of the pack oam from the wanted state: each object is there once.
func (f *fleet) applied(n int) error {
	var errs []error
	for _, list := range applicationLists() {
		names, err := f.names(list)
		if len(names) != n {
			errs = append(errs, fmt.Errorf("%T has %v, want %d objects", list, names.UnsortedList(), n))
		}
		errs = append(errs, err)
	}
	for i := range n {
		errs = append(errs, f.isApplied(i))
	}
	return errors.Join(errs...)
}

// isApplied returns why the application of set i is not complete.
func (f *fleet) isApplied(i int) error {
	var application oamv1alpha2.ApplicationConfiguration
	var scope oamv1alpha2.HealthScope
	var deployment appsv1.Deployment
	for name, obj := range map[string]client.Object{"app": &application, "health": &scope, "item": &deployment} {
		if err := f.c.Get(f.t.Context(), client.ObjectKey{Namespace: f.ns, Name: f.key(name, i)}, obj); err != nil {
			return err
		}
	}
	conditions := application.Status.Conditions
	if len(conditions) != 1 || conditions[0].Type != "Synced" || conditions[0].Status != metav1.ConditionTrue {
		return fmt.Errorf("ApplicationConfiguration %s: %v", application.Name, conditions)
	}
	if members := len(scope.Spec.WorkloadReferences); members != 1 {
		return fmt.Errorf("HealthScope %s has %d workloads, want 1", scope.Name, members)
	}
	if replicas := deployment.Spec.Replicas; replicas == nil || *replicas != 0 {
		return fmt.Errorf("Deployment %s is not scaled to 0", deployment.Name)
	}
	return nil
}

// fleetAzure starts an emulated Azure for a fleet, and enables the kinds in azureSet.
func fleetAzure(t *testing.T) *evilAzure {
	t.Helper()
	enableAzure(t, operator.Client(t))
	return newEvilAzure(t)
}

// options have an operator in this process use the emulated Azure.
func (a *evilAzure) options(o *options.Options) {
	o.Azure.Endpoint, o.Azure.Credential, o.Azure.Subscription = a.url, cloudazure.NoCredential, hostileSubscription
}

// inAzure returns the names of the resources in the subscription of the fleet.
func (f *fleet) inAzure() map[string]int { return (&honest{azure: f.azure}).inAzure() }

// provisioned returns the differences of n sets of the pack azure from the wanted state: each resource is there once.
func (f *fleet) provisioned(n int) error {
	var errs []error
	want := map[string]int{}
	h := honest{scene: f.scene}
	for name, gvk := range map[string]schema.GroupVersionKind{
		"group": resourceGroupKind, "vnet": networkKind("VirtualNetwork"), "subnet": networkKind("VirtualNetworksSubnet"),
	} {
		for i := range n {
			u := ofKind(gvk)
			u.SetNamespace(f.ns)
			u.SetName(f.key(name, i))
			errs = append(errs, h.isAzureReady(u))
			want[u.GetName()] = 1
		}
	}
	if diff := cmp.Diff(want, f.inAzure()); diff != "" {
		errs = append(errs, fmt.Errorf("in Azure (-want +got):\n%s", diff))
	}
	return errors.Join(errs...)
}

// ofKind returns an object of a kind without content.
func ofKind(gvk schema.GroupVersionKind) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u
}

// azureLists returns lists of all kinds in azureSet. A resource of Azure takes the resources in it along, so that
// group-N may be gone before vnet-N.
func azureLists() []client.ObjectList {
	groups, networks, subnets := &unstructured.UnstructuredList{}, &unstructured.UnstructuredList{},
		&unstructured.UnstructuredList{}
	groups.SetGroupVersionKind(resourceGroupKind)
	networks.SetGroupVersionKind(networkKind("VirtualNetwork"))
	subnets.SetGroupVersionKind(networkKind("VirtualNetworksSubnet"))
	return []client.ObjectList{groups, networks, subnets}
}
