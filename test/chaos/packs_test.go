package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// fleet is a namespace with sets of objects of the packs: Port port-N is in Subnet sub-N of Network net-N, and
// IotConnector hub-N has one Deployment. oamSet and azureSet have the objects of the packs oam and azure.
type fleet struct {
	scene

	cloud *emulator.Server
	azure *evilAzure // Which no mood makes hostile here.
}

const fleetSet = `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: net-%[1]d}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, resource: {}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Subnet
metadata: {name: sub-%[1]d}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin},
  resource: {networkRef: net-%[1]d, ipVersion: 4, cidr: 10.0.0.0/24}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Port
metadata: {name: port-%[1]d}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin},
  resource: {networkRef: net-%[1]d, addresses: [{subnetRef: sub-%[1]d}]}}
---
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
metadata: {name: hub-%[1]d}
spec: {version: 1, deployments: [
  {name: worker-%[1]d, replicas: 0, containers: [{type: Normalization, image: 'example.com/n:1'}]}]}
`

func newFleet(t *testing.T, azure *evilAzure) *fleet {
	t.Helper()
	f := &fleet{newScene(t), operator.Cloud(t, emulator.Options{}), azure}
	f.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.ns, Name: "cloud"},
		Data:       map[string][]byte{"clouds.yaml": []byte(f.cloud.CloudsYAML())},
	}, azureSecret(f.ns, honestSubscription))
	return f
}

// set returns the objects of set i.
func (f *fleet) set(i int) []*unstructured.Unstructured {
	f.t.Helper()
	var objects []*unstructured.Unstructured
	for text := range strings.SplitSeq(fmt.Sprintf(fleetSet+"---\n"+oamSet+"---\n"+azureSet, i), "---\n") {
		obj, err := decode(text)
		if err != nil {
			f.t.Fatal(err)
		}
		obj.SetNamespace(f.ns)
		objects = append(objects, obj)
	}
	return objects
}

// launch creates n sets of objects. Webhooks may have to be asked again.
func (f *fleet) launch(n int) {
	f.t.Helper()
	f.define()
	for i := range n {
		for _, obj := range f.set(i) {
			err := f.insist(func(ctx context.Context) error { return ignoreExists(f.c.Create(ctx, obj.DeepCopy())) })
			if err != nil {
				f.t.Fatalf("create %s %s: %v", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
}

// complete returns the differences of n sets from the wanted state: each object has its
// references, once.
func (f *fleet) complete(n int) error {
	var errs []error
	for kind, name := range map[string]string{"Network": "net", "Subnet": "sub", "Port": "port"} {
		for i := range n {
			h := honest{scene: f.scene}
			errs = append(errs, h.isAvailable(kind, f.key(name, i)))
		}
	}
	for i := range n {
		errs = append(errs, f.served(f.key("hub", i)))
	}
	counts := map[string]int{}
	for collection, items := range f.cloud.Inventory() {
		counts[collection] = len(items)
	}
	want := map[string]int{"network/networks": n, "network/subnets": n, "network/ports": n}
	if diff := cmp.Diff(want, counts); diff != "" {
		errs = append(errs, fmt.Errorf("in the cloud (-want +got):\n%s", diff))
	}
	names, err := f.names(&appsv1.DeploymentList{})
	if len(names) != 2*n { // Of the IotConnectors and of the applications.
		errs = append(errs, fmt.Errorf("%d Deployments, want %d", len(names), 2*n))
	}
	return errors.Join(append(errs, err, f.applied(n), f.provisioned(n))...)
}

// served returns nil when an IotConnector is Ready: its Deployment, of no Pods, is available.
func (f *fleet) served(name string) error {
	var hub iotv1alpha1.IotConnector
	if err := f.c.Get(f.t.Context(), client.ObjectKey{Namespace: f.ns, Name: name}, &hub); err != nil {
		return err
	}
	if !meta.IsStatusConditionTrue(hub.Status.Conditions, "Ready") {
		return fmt.Errorf("IotConnector %s: %v", name, hub.Status.Conditions)
	}
	return nil
}

// names returns the names of the objects of a kind.
func (f *fleet) names(list client.ObjectList) (sets.Set[string], error) {
	names := sets.Set[string]{}
	if err := f.c.List(f.t.Context(), list, client.InNamespace(f.ns)); err != nil {
		return nil, err
	}
	return names, meta.EachListItem(list, func(item runtime.Object) error {
		names.Insert(item.(client.Object).GetName())
		return nil
	})
}

// scuttle deletes all objects at once.
func (f *fleet) scuttle() {
	f.t.Helper()
	var deleting sync.WaitGroup
	for _, obj := range []client.Object{
		&openstackv1alpha1.Network{}, &openstackv1alpha1.Subnet{}, &openstackv1alpha1.Port{}, &iotv1alpha1.IotConnector{},
		&oamv1alpha2.ApplicationConfiguration{}, &oamv1alpha2.Component{}, &oamv1alpha2.HealthScope{},
		ofKind(resourceGroupKind), ofKind(networkKind("VirtualNetwork")), ofKind(networkKind("VirtualNetworksSubnet")),
	} {
		deleting.Go(func() {
			err := f.insist(func(ctx context.Context) error { return f.c.DeleteAllOf(ctx, obj, client.InNamespace(f.ns)) })
			if err != nil {
				f.t.Error(err)
			}
		})
	}
	deleting.Wait()
}

// left returns the remaining objects of n sets after scuttle, and their number. An object of OpenStack that
// is deleted before its dependent fails the test: lists are read in the order of the last
// deletions, so that an object seen later existed while its dependency was missing.
func (f *fleet) left(n int) (int, error) {
	total := 0
	var before sets.Set[string]
	for _, kind := range []struct {
		name string
		list client.ObjectList
	}{
		{"net", &openstackv1alpha1.NetworkList{}},
		{"sub", &openstackv1alpha1.SubnetList{}},
		{"port", &openstackv1alpha1.PortList{}},
	} {
		names, err := f.names(kind.list)
		if err != nil {
			return math.MaxInt, err
		}
		present := sets.Set[string]{}
		for i := range n {
			if names.Has(f.key(kind.name, i)) {
				present.Insert(fmt.Sprint(i))
			}
		}
		if before != nil && !before.IsSuperset(present) {
			f.t.Errorf("%s of sets %v are there without what they need", kind.name, present.Difference(before).UnsortedList())
		}
		before, total = present, total+len(names)
	}
	others := slices.Concat(applicationLists(), azureLists(), []client.ObjectList{
		&iotv1alpha1.IotConnectorList{}, &appsv1.DeploymentList{},
	})
	for _, list := range others {
		names, err := f.names(list)
		if err != nil {
			return math.MaxInt, err
		}
		total += len(names)
	}
	if total > 0 {
		return total, fmt.Errorf("%d objects are left", total)
	}
	if inventory := f.cloud.Inventory(); len(inventory) > 0 {
		return 0, fmt.Errorf("left in the cloud: %v", inventory)
	}
	if left := f.inAzure(); len(left) > 0 {
		return 0, fmt.Errorf("left in Azure: %v", left)
	}
	return 0, nil
}

// awaitLeft waits until no more than so many objects are left of n sets.
func (f *fleet) awaitLeft(n, atMost int) {
	f.t.Helper()
	testenv.EventuallyWithin(f.t, hostilePatience, func() error {
		now, err := f.left(n)
		if now <= atMost && (err == nil || atMost > 0) {
			return nil
		}
		return err
	})
}

// everyPack has an operator in this process run all packs.
func everyPack(o *options.Options) { o.Packs, o.Openstack.QPS = nil, 1000 }

// TestPacksLossy is TestLossy for the other packs: nothing is made twice, and nothing is left.
func TestPacksLossy(t *testing.T) {
	p := newProxy(t)
	azure := fleetAzure(t)
	operator.Start(t, p.Through, everyPack, azure.options)
	n := sized(10)
	life := func() int64 {
		before := p.Requests.Load()
		f := newFleet(t, azure)
		f.launch(n)
		testenv.EventuallyWithin(t, hostilePatience, func() error { return f.complete(n) })
		f.scuttle()
		f.awaitLeft(n, 0)
		return p.Requests.Load() - before
	}
	clean := life()
	injected := p.lossy(rand.New(rand.NewPCG(3, 4)))
	lossy := life()
	p.Set(pass)
	t.Logf("%d sets took %d requests, with %s failing %d", n, clean, injected, lossy)
	if lossy >= 2*clean {
		t.Errorf("with one request in ten failing there were %d requests, without %d", lossy, clean)
	}
}

// TestPacksDown is TestDown with all packs: cloud resources and Deployments are kept, objects
// without a webhook are accepted, and all work is done when an operator runs again.
func TestPacksDown(t *testing.T) {
	for _, how := range []string{"killed", "frozen"} {
		t.Run(how, func(t *testing.T) {
			azure := fleetAzure(t)
			args := slices.Concat(hostileArgs, []string{"--packs", "azure"}, azure.args())
			o := operator.Exec(t, args...)
			f := newFleet(t, azure)
			f.launch(2)
			testenv.Eventually(t, func() error { return f.complete(2) })
			f.protect(1)
			thaw := func() { operator.Exec(t, args...) }
			if how == "killed" {
				o.Kill()
			} else {
				thaw = freeze(t, send(o, syscall.SIGSTOP), send(o, syscall.SIGCONT))
			}
			f.checkRefused()
			f.checkUnaffected()
			f.checkUnserved()
			thaw()
			f.launch(3)
			testenv.EventuallyWithin(t, recovery, func() error { return f.complete(3) })
			f.scuttle()
			f.awaitLeft(3, 0)
			if err := f.c.Delete(t.Context(), f.using(0)); err != nil {
				t.Fatal(err)
			}
			testenv.EventuallyWithin(t, recovery, func() error { return f.c.Delete(t.Context(), f.used(0)) })
		})
	}
}

// checkUnserved writes objects of all packs while no operator answers.
func (f *fleet) checkUnserved() {
	f.t.Helper()
	var trying sync.WaitGroup
	for _, obj := range f.set(2) {
		trying.Go(func() {
			start := time.Now()
			err := f.c.Create(f.t.Context(), obj)
			took := time.Since(start)
			// By a webhook, which fails closed.
			judged := obj.GetKind() == "IotConnector" || obj.GroupVersionKind().Group == oamv1alpha2.GroupVersion.Group
			if judged && (!apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "failed calling webhook")) {
				f.t.Errorf("create %s: %v, want a refusal because the webhook can't be asked", obj.GetKind(), err)
			}
			if !judged && err != nil {
				f.t.Errorf("create %s: %v", obj.GetKind(), err)
			}
			if took > patience {
				f.t.Errorf("create %s was answered after %s, want less than %s", obj.GetKind(), took, patience)
			}
		})
	}
	trying.Wait()
	if err := f.cloudHas(2); err != nil {
		f.t.Error(err)
	}
}

// cloudHas returns an error unless the cloud has the resources of n sets.
func (f *fleet) cloudHas(n int) error {
	for _, collection := range []string{"network/networks", "network/subnets", "network/ports"} {
		if have := len(f.cloud.Inventory()[collection]); have != n {
			return fmt.Errorf("the cloud has %d of %s, want %d", have, collection, n)
		}
	}
	if have := len(f.inAzure()); have != 3*n {
		return fmt.Errorf("Azure has %d resources, want %d", have, 3*n)
	}
	return nil
}

// TestPacksOutage is TestOutage for the other packs: etcd stands still and the API
// server crashes in the middle of a teardown. No object is deleted before its dependent, no
// resource is created again, and none is left.
func TestPacksOutage(t *testing.T) {
	azure := fleetAzure(t)
	operator.Start(t, everyPack, azure.options)
	f := newFleet(t, azure)
	n := sized(20)
	f.launch(n)
	testenv.EventuallyWithin(t, hostilePatience, func() error { return f.complete(n) })
	f.cloud.SetLatency(500 * time.Millisecond) // So that the teardown takes longer than a look.
	azure.good.SetLatency(500 * time.Millisecond)
	cluster := testenv.Cluster(t)
	f.scuttle()
	f.awaitLeft(n, 8*n)
	thaw := freeze(t,
		func() error { return cluster.Pause(t.Context(), localcluster.Etcd) },
		func() error { return cluster.Resume(localcluster.Etcd) })
	<-time.After(outage)
	thaw()
	f.awaitLeft(n, 5*n/2)
	if err := cluster.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.awaitLeft(n, 0)
	for call, times := range f.cloud.Done() {
		if call.Service == "network" && call.Method == http.MethodPost && times > n {
			t.Errorf("%s were created %d times, want %d", call.Resource, times, n)
		}
	}
}
