package chaos_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// honest is a tenant with pairs of objects, a few OpenStack objects on a good cloud, and
// an IotConnector. Some are kept, and others come and go.
type honest struct {
	scene

	cloud *emulator.Server
	azure *evilAzure
	uids  map[string]types.UID
	// azureUIDs are the uids of the kept objects of Azure, by kind.
	azureUIDs map[string]types.UID
	// guarded is held for writing while a guard is missing.
	guarded sync.RWMutex
	// latencies are of the Usages that come and go.
	latencies latencies
}

const (
	// keptPairs are used until the end, and the honest tenant tries to delete what is used.
	keptPairs = 3
	// silentPair is used until the end as well. Its Usage has spec.replayDeletion, and nobody asks to delete what is
	// used: in the end used-3 is released and stays. Forged reviews say that forgedUser has deleted used-3.
	silentPair = keptPairs
	// refusedFor is how long deletions have to be refused until it is sure that the API
	// server goes by a guard that was restored.
	refusedFor = time.Second
)

const keptObjects = `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Network
metadata: {name: net}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, resource: {}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Subnet
metadata: {name: sub}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin},
  resource: {networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}}
---
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: SecurityGroup
metadata: {name: group}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, resource: {}}
---
apiVersion: services.azurehealthcareapis.com/v1alpha1
kind: IotConnector
metadata: {name: kept, labels: {Tier: AlwaysUpdate}}
spec: {version: 1, deployments: [{name: one, containers: [{type: Normalization, image: 'example.com/n:1'}]}]}
`

// comingPort is what comes and goes, %d being one that comes again.
const comingPort = `
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: Port
metadata: {name: port-%d}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin},
  resource: {networkRef: net, addresses: [{subnetRef: sub}]}}
`

func newHonest(t *testing.T, azure *evilAzure) *honest {
	t.Helper()
	h := &honest{
		scene: newScene(t), cloud: operator.Cloud(t, emulator.Options{}), azure: azure,
		uids: map[string]types.UID{}, azureUIDs: map[string]types.UID{},
	}
	h.create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "cloud"},
		Data:       map[string][]byte{"clouds.yaml": []byte(h.cloud.CloudsYAML())},
	}, azureSecret(h.ns, honestSubscription))
	for _, obj := range testenv.Apply(t, keptAzure, testenv.In(h.ns)) {
		h.azureUIDs[obj.GetKind()] = obj.GetUID()
	}
	for _, obj := range testenv.Apply(t, keptObjects, testenv.In(h.ns)) {
		h.uids[obj.GetKind()+" "+obj.GetName()] = obj.GetUID()
	}
	h.protect(silentPair + 1)
	replay := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replayDeletion":true}}`))
	if err := h.c.Patch(t.Context(), h.usage(silentPair), replay); err != nil {
		t.Fatal(err)
	}
	for i := range silentPair + 1 {
		used := h.used(i)
		if err := h.c.Get(t.Context(), client.ObjectKeyFromObject(used), used); err != nil {
			t.Fatal(err)
		}
		h.uids["ConfigMap "+used.Name] = used.UID
	}
	testenv.Eventually(t, h.correct)
	return h
}

// ids returns those of everything in the honest tenant's cloud.
func (h *honest) ids() []string {
	var ids []string
	for _, items := range h.cloud.Inventory() {
		for _, item := range items {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// startWork has what comes and goes do so until end is called.
func (h *honest) startWork() (end func()) {
	stop := make(chan struct{})
	var working sync.WaitGroup
	for name, round := range map[string]func(int) error{
		"usages": h.usageRound, "ports": h.portRound, "connectors": h.connectorRound, "tables": h.tableRound,
	} {
		working.Go(func() {
			for i := silentPair + 1; ; i++ {
				select {
				case <-stop:
					h.t.Logf("%d rounds of %s", i-silentPair-1, name)
					return
				default:
				}
				if err := round(i); err != nil {
					h.t.Errorf("round %d of %s: %v", i, name, err)
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() {
		close(stop)
		working.Wait()
	})
}

// usageRound protects something, fails to delete it, and releases it.
func (h *honest) usageRound(i int) error {
	create := func(objects ...client.Object) error {
		for _, obj := range objects {
			if err := h.insist(func(ctx context.Context) error {
				return ignoreExists(h.c.Create(ctx, obj.DeepCopyObject().(client.Object)))
			}); err != nil {
				return err
			}
		}
		return nil
	}
	if err := h.latencies.measure(control, func() error { return create(h.used(i), h.using(i)) }); err != nil {
		return err
	}
	if err := create(h.usage(i)); err != nil {
		return err
	}
	if err := h.latencies.measure(usageReady, func() error {
		return h.insistEvery(latencyPause, func(context.Context) error { return h.isReady(i) })
	}); err != nil {
		return err
	}
	if err := errors.Join(h.refused(i), h.refused(i%keptPairs)); err != nil {
		return err
	}
	if err := h.insist(func(ctx context.Context) error {
		return client.IgnoreNotFound(h.c.Delete(ctx, h.using(i)))
	}); err != nil {
		return err
	}
	return h.insist(func(ctx context.Context) error { return client.IgnoreNotFound(h.c.Delete(ctx, h.used(i))) })
}

// refused tries to delete what is used, unless a guard is missing.
func (h *honest) refused(i int) error {
	h.guarded.RLock()
	defer h.guarded.RUnlock()
	if h.c.Delete(h.t.Context(), h.used(i)) == nil {
		return fmt.Errorf("used-%d was deleted although it is used", i)
	}
	return nil
}

// awaitRefusals waits until what is used is protected for certain.
func (h *honest) awaitRefusals() {
	h.t.Helper()
	since := time.Now()
	testenv.Eventually(h.t, func() error {
		if h.c.Delete(h.t.Context(), h.used(0), client.DryRunAll) == nil {
			since = time.Now()
			return errors.New("a deletion is not refused")
		}
		if time.Since(since) < refusedFor {
			return errors.New("deletions are refused not long enough")
		}
		return nil
	})
}

// portRound makes a Port and deletes it.
func (h *honest) portRound(i int) error {
	port := &openstackv1alpha1.Port{}
	name := fmt.Sprintf("port-%d", i%2)
	port.Namespace, port.Name = h.ns, name
	if err := h.insist(func(ctx context.Context) error {
		obj, err := decode(fmt.Sprintf(comingPort, i%2))
		if err != nil {
			return err
		}
		obj.SetNamespace(h.ns)
		return ignoreExists(h.c.Create(ctx, obj))
	}); err != nil {
		return err
	}
	if err := h.insist(func(context.Context) error { return h.isAvailable("Port", name) }); err != nil {
		return err
	}
	if n := h.inCloud("network/ports", name); n != 1 {
		return fmt.Errorf("%s is %d times in the cloud", name, n)
	}
	if err := h.c.Delete(h.t.Context(), port); err != nil {
		return err
	}
	if err := h.insist(func(ctx context.Context) error {
		err := h.c.Get(ctx, client.ObjectKeyFromObject(port), port)
		if err == nil {
			return fmt.Errorf("%s is left: %v", name, port.Status.Conditions)
		}
		return client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	if n := h.inCloud("network/ports", name); n != 0 {
		return fmt.Errorf("%s is gone and %d times in the cloud", name, n)
	}
	return nil
}

// connectorRound changes the image of an IotConnector, and sees its Deployment follow.
func (h *honest) connectorRound(i int) error {
	image := fmt.Sprintf("example.com/n:%d", i)
	containers := fmt.Sprintf(`[{"type":"Normalization","image":%q}]`, image)
	body := fmt.Sprintf(`{"spec":{"deployments":[{"name":"one","containers":%s}]}}`, containers)
	c := &iotv1alpha1.IotConnector{ObjectMeta: metav1.ObjectMeta{Namespace: h.ns, Name: "kept"}}
	patch := client.RawPatch(types.MergePatchType, []byte(body))
	if err := h.insist(func(ctx context.Context) error { return h.c.Patch(ctx, c, patch) }); err != nil {
		return err
	}
	return h.insist(func(context.Context) error {
		d, err := h.deployment()
		if err == nil && d.Spec.Template.Spec.Containers[0].Image != image {
			err = fmt.Errorf("the Deployment has image %s, want %s", d.Spec.Template.Spec.Containers[0].Image, image)
		}
		return err
	})
}

// deployment returns the one of the connector.
func (h *honest) deployment() (*appsv1.Deployment, error) {
	var list appsv1.DeploymentList
	if err := h.c.List(h.t.Context(), &list, client.InNamespace(h.ns)); err != nil {
		return nil, err
	}
	if n := len(list.Items); n != 1 {
		return nil, fmt.Errorf("%d Deployments, want 1", n)
	}
	return &list.Items[0], nil
}

// isAvailable returns why an OpenStack object is not.
func (h *honest) isAvailable(kind, name string) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind(kind))
	if err := h.c.Get(h.t.Context(), client.ObjectKey{Namespace: h.ns, Name: name}, u); err != nil {
		return err
	}
	list, _, err := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == "Available" && c["status"] == "True" {
			return nil
		}
	}
	return errors.Join(err, fmt.Errorf("%s %s is not Available: %v", kind, name, list))
}

func (h *honest) inCloud(collection, name string) int {
	n := 0
	for _, item := range h.cloud.Inventory()[collection] {
		if item.Name == name {
			n++
		}
	}
	return n
}

// correct returns what is not as it should be of what is kept.
func (h *honest) correct() error {
	var errs []error
	for kind, name := range map[string]string{"Network": "net", "Subnet": "sub", "SecurityGroup": "group"} {
		errs = append(errs, h.isAvailable(kind, name))
	}
	counts := map[string]int{}
	for collection, items := range h.cloud.Inventory() {
		counts[collection] = len(items)
	}
	want := map[string]int{"network/networks": 1, "network/subnets": 1, "network/security_groups": 1}
	if diff := cmp.Diff(want, counts); diff != "" {
		errs = append(errs, fmt.Errorf("in the cloud (-want +got):\n%s", diff))
	}
	for i := range silentPair + 1 {
		errs = append(errs, h.isReady(i))
	}
	_, err := h.deployment()
	return errors.Join(append(errs, err, h.azureIsCorrect())...)
}

// check expects that all that is kept is as it should be, and still the same.
func (h *honest) check() {
	h.t.Helper()
	testenv.EventuallyWithin(h.t, hostilePatience, h.correct)
	for what, uid := range h.uids {
		kind, name, _ := strings.Cut(what, " ")
		u := &unstructured.Unstructured{}
		switch kind {
		case "ConfigMap":
			u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		case "IotConnector":
			u.SetGroupVersionKind(iotv1alpha1.GroupVersion.WithKind(kind))
		default:
			u.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind(kind))
		}
		err := h.c.Get(h.t.Context(), client.ObjectKey{Namespace: h.ns, Name: name}, u)
		if err != nil || u.GetUID() != uid || u.GetDeletionTimestamp() != nil {
			h.t.Errorf("%s is not what it was: %v", what, err)
		}
		if kind == "ConfigMap" && u.GetLabels()[lockLabel] == "" {
			h.t.Errorf("%s is not locked", what)
		}
	}
	for i := range keptPairs {
		if err := h.refused(i); err != nil {
			h.t.Error(err)
		}
	}
}

// leave deletes everything, in the order in which it may go, and expects nothing to stay.
func (h *honest) leave() {
	h.t.Helper()
	for i := range keptPairs {
		if err := h.c.Delete(h.t.Context(), h.using(i)); err != nil {
			h.t.Error(err)
		}
		testenv.Eventually(h.t, func() error { return client.IgnoreNotFound(h.c.Delete(h.t.Context(), h.used(i))) })
	}
	h.releaseSilently()
	if left := h.locked(); len(left) > 0 {
		h.t.Errorf("locks are left on %v", left)
	}
	for _, obj := range []client.Object{
		&openstackv1alpha1.Network{}, &openstackv1alpha1.Subnet{}, &openstackv1alpha1.SecurityGroup{},
		&iotv1alpha1.IotConnector{},
	} {
		if err := h.c.DeleteAllOf(h.t.Context(), obj, client.InNamespace(h.ns)); err != nil {
			h.t.Error(err)
		}
	}
	testenv.EventuallyWithin(h.t, hostilePatience, h.azureIsLeft)
	testenv.EventuallyWithin(h.t, hostilePatience, func() error {
		var errs []error
		for what := range h.uids {
			kind, name, _ := strings.Cut(what, " ")
			if gv := openstackv1alpha1.GroupVersion; kind != "ConfigMap" && kind != "IotConnector" {
				u := &unstructured.Unstructured{}
				u.SetGroupVersionKind(gv.WithKind(kind))
				if err := h.c.Get(h.t.Context(), client.ObjectKey{Namespace: h.ns, Name: name}, u); !apierrors.IsNotFound(err) {
					errs = append(errs, fmt.Errorf("%s is left: %v, error %w", what, u.GetFinalizers(), err))
				}
			}
		}
		if left := h.cloud.Inventory(); len(left) > 0 {
			errs = append(errs, fmt.Errorf("left in the cloud: %v", left))
		}
		if _, err := h.deployment(); err == nil {
			errs = append(errs, errors.New("the Deployment is left"))
		}
		return errors.Join(errs...)
	})
}

// releaseSilently ends the Usage of silentPair, and expects that what was used stays: nobody asked for a deletion.
func (h *honest) releaseSilently() {
	h.t.Helper()
	if err := h.c.Delete(h.t.Context(), h.using(silentPair)); err != nil {
		h.t.Error(err)
	}
	testenv.Eventually(h.t, h.noneLeft)
	used := h.used(silentPair)
	err := h.c.Get(h.t.Context(), client.ObjectKeyFromObject(used), used)
	if err != nil || used.UID != h.uids["ConfigMap "+used.Name] || used.DeletionTimestamp != nil {
		h.t.Errorf("%s did not stay: uid %s, deleted %v, error %v", used.Name, used.UID, used.DeletionTimestamp, err)
	}
}

func toBase64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// decode reads the manifest of one object.
func decode(text string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	return u, yaml.Unmarshal([]byte(text), &u.Object)
}
