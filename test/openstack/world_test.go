package openstack_test

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/external"
	"github.com/kinship-dev/kinship/test/operator"
)

// world is the environment of a test: a namespace, a cloud, and a Secret with the credentials
// of the cloud.
type world struct {
	t  *testing.T
	c  *kindsClient
	ns string
	// clouds is the Secret's clouds.yaml.
	clouds string
	// cloud is nil for a real cloud.
	cloud *emulator.Server
	// image is where Glance may download from; a server of the test's own if empty.
	image string
	// patience is how long tidying up may take for each object; half a minute if zero.
	patience time.Duration
}

// newWorld creates a world, whose Secret is called "cloud".
func newWorld(t *testing.T) *world {
	t.Helper()
	w := untidyWorld(t)
	t.Cleanup(func() { w.tidyUp(); w.empty() })
	return w
}

// untidyWorld creates a world that the test must tidy up.
func untidyWorld(t *testing.T) *world {
	t.Helper()
	cloud := operator.Cloud(t, emulator.Options{})
	return worldOf(t, cloud.CloudsYAML(), cloud)
}

func worldOf(t *testing.T, clouds string, cloud *emulator.Server) *world {
	t.Helper()
	w := &world{t: t, c: newKindsClient(t), ns: testenv.Namespace(t), clouds: clouds, cloud: cloud}
	w.create(w.secret("cloud", clouds))
	return w
}

// neighbour is another namespace with the same cloud.
func (w *world) neighbour() *world {
	w.t.Helper()
	n := worldOf(w.t, w.clouds, w.cloud)
	w.t.Cleanup(n.tidyUp)
	return n
}

// only runs the pack alone.
func only(o *options.Options) { o.Packs = []string{"openstack"}; o.Openstack.QPS = 1000 }

// lists of all kinds of the pack. Composed objects are last: when their owners are ready, they
// exist.
func lists() []client.ObjectList {
	return []client.ObjectList{
		&openstackv1alpha1.DomainList{}, &openstackv1alpha1.FloatingIPList{}, &openstackv1alpha1.NetworkList{}, &openstackv1alpha1.PortList{},
		&openstackv1alpha1.ProjectList{}, &openstackv1alpha1.RouterList{},
		&openstackv1alpha1.SecurityGroupList{}, &openstackv1alpha1.SubnetList{}, &openstackv1alpha1.TrunkList{},
		&openstackv1alpha1.AddressScopeList{}, &openstackv1alpha1.GroupList{}, &openstackv1alpha1.RoleList{},
		&openstackv1alpha1.ServiceList{}, &openstackv1alpha1.EndpointList{}, &openstackv1alpha1.ServerGroupList{},
		&openstackv1alpha1.ShareNetworkList{}, &openstackv1alpha1.VolumeTypeList{}, &openstackv1alpha1.VolumeList{},
		&openstackv1alpha1.ServerList{},
		&openstackv1alpha1.UserList{}, &openstackv1alpha1.FlavorList{}, &openstackv1alpha1.KeyPairList{},
		&openstackv1alpha1.RoleAssignmentList{}, &openstackv1alpha1.ApplicationCredentialList{},
		&openstackv1alpha1.ImageList{}, &openstackv1alpha1.RouterInterfaceList{},
	}
}

// tidyUp deletes everything at once and waits for the end of all deletions: the guards find the
// order.
func (w *world) tidyUp() {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	if w.cloud != nil {
		w.cloud.ClearFaults()
	}
	all := w.all()
	for _, obj := range all {
		if drift := obj.GetExternalStatus().Drift; len(drift) > 0 {
			w.t.Errorf("%T %s is said to have changed: %v", obj, obj.GetName(), drift)
		}
		if err := w.c.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			w.t.Errorf("tidy up: %v", err)
		}
	}
	for _, obj := range all {
		testenv.EventuallyWithin(w.t, stdcmp.Or(w.patience, 30*time.Second), func() error {
			if err := w.c.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
				return client.IgnoreNotFound(err)
			}
			return fmt.Errorf("left behind: %T %s %v: %v", obj, obj.GetName(), obj.GetFinalizers(), conditions(obj))
		})
	}
	for _, obj := range w.all() {
		w.t.Errorf("came while others went: %T %s", obj, obj.GetName())
	}
}

func (w *world) all() []external.Object {
	w.t.Helper()
	all, err := itemsOf(context.WithoutCancel(w.t.Context()), w.c, w.c.lists(), client.InNamespace(w.ns))
	if err != nil {
		w.t.Errorf("list: %v", err)
	}
	return all
}

// empty expects that the cloud has only resources that a test created directly.
func (w *world) empty(but ...string) {
	w.t.Helper()
	for resource, items := range w.cloud.Inventory() {
		for _, item := range items {
			if !slices.Contains(but, item.Name) && !strings.HasPrefix(item.Name, "theirs") {
				w.t.Errorf("left in the cloud: %s %s (%s)", resource, item.Name, item.ID)
			}
		}
	}
}

func (w *world) secret(name, clouds string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Data:       map[string][]byte{"clouds.yaml": []byte(clouds)},
	}
}

// Manifests.

// managed is the manifest of an object whose resource is to be created. The spec of the
// resource is in YAML's flow style, such as "{mtu: 1400}".
func managed(kind, name, resource string) string {
	return manifest(kind, name, "resource: "+resource)
}

// imported is the manifest of an object for an existing resource.
func imported(kind, name, how string) string {
	return manifest(kind, name, "managementPolicy: unmanaged, import: "+how)
}

func manifest(kind, name, spec string) string {
	return fmt.Sprintf(`
apiVersion: openstack.k-orc.cloud/v1alpha1
kind: %s
metadata: {name: %s}
spec: {cloudCredentialsRef: {secretName: cloud, cloudName: openstack-admin}, %s}
---`, kind, name, spec)
}

func (w *world) apply(manifests ...string) {
	w.t.Helper()
	text := strings.Join(manifests, "\n")
	if strings.Contains(text, somewhere) {
		text = strings.ReplaceAll(text, somewhere, w.disk())
	}
	for _, applied := range testenv.Apply(w.t, text, testenv.In(w.ns)) {
		w.c.record(applied.GetKind())
	}
}

// disk returns the address of the content of images.
func (w *world) disk() string {
	w.t.Helper()
	if w.image != "" {
		return w.image
	}
	return source(w.t, disk, nil)
}

// Actions.

func (w *world) create(objects ...client.Object) {
	w.t.Helper()
	for _, obj := range objects {
		if err := w.c.Create(w.t.Context(), obj); err != nil {
			w.t.Fatalf("create %s: %v", obj.GetName(), err)
		}
	}
}

// object returns an empty object by its kind and name.
func object(kind string) client.Object {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind(kind))
	if kind == "Secret" {
		u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	}
	return u
}

func (w *world) get(kind, name string) *unstructured.Unstructured {
	w.t.Helper()
	u := object(kind).(*unstructured.Unstructured)
	if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, u); err != nil {
		w.t.Fatal(err)
	}
	return u
}

func (w *world) delete(kind, name string) {
	w.t.Helper()
	u := object(kind)
	u.SetNamespace(w.ns)
	u.SetName(name)
	if err := w.c.Delete(w.t.Context(), u); err != nil {
		w.t.Fatalf("delete %s %s: %v", kind, name, err)
	}
}

// edit changes the spec of an object by a JSON merge patch.
func (w *world) edit(kind, name, patch string) {
	w.t.Helper()
	u := object(kind)
	u.SetNamespace(w.ns)
	u.SetName(name)
	if err := w.c.Patch(w.t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.t.Fatalf("edit %s %s: %v", kind, name, err)
	}
}

// Expectations.

// want is the expected state of a condition.
type want struct{ status, reason, message string }

var (
	isAvailable = want{"True", "Success", "OpenStack resource is available"}
	isUpToDate  = want{"False", "Success", "OpenStack resource is up to date"}
)

func waitingFor(objects ...string) want {
	return want{"True", "Progressing", "Waiting for " + strings.Join(objects, "\nWaiting for ")}
}

// available waits until objects are available in their present generation, with the conditions
// of the published API, in its order and no others.
func (w *world) available(kind string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.has(kind, name, "Available", isAvailable)
		w.has(kind, name, "Progressing", isUpToDate)
		published := []string{"Available", "Progressing"}
		u := w.get(kind, name)
		// The first condition of an Image that waited for nothing, and the last of another.
		switch slices.Index(conditionTypes(u), "Downloading") {
		case 0:
			published = append([]string{"Downloading"}, published...)
		case 2:
			published = append(published, "Downloading")
		}
		if diff := cmp.Diff(published, conditionTypes(u)); diff != "" {
			w.t.Errorf("conditions of %s/%s (-want +got):\n%s", kind, name, diff)
		}
	}
}

// conditionTypes returns the types of an object's conditions, in the order of its list.
func conditionTypes(u *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	types := []string{}
	for _, item := range list {
		types = append(types, fmt.Sprint(item.(map[string]any)["type"]))
	}
	return types
}

// has waits for a condition of an object in its present generation.
func (w *world) has(kind, name, condition string, expected want) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u := w.get(kind, name)
		got, generation := find(u, condition)
		if diff := cmp.Diff(expected, got, cmp.AllowUnexported(want{})); diff != "" || generation != u.GetGeneration() {
			return fmt.Errorf("%s/%s: %s of generation %d, object of %d (-want +got):\n%s",
				kind, name, condition, generation, u.GetGeneration(), diff)
		}
		return nil
	})
}

// says waits until an object's Progressing condition has a line.
func (w *world) says(kind, name, line string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		progressing, _ := find(w.get(kind, name), "Progressing")
		if !slices.Contains(strings.Split(progressing.message, "\n"), line) {
			return fmt.Errorf("%s/%s says %q, not %q", kind, name, progressing.message, line)
		}
		return nil
	})
}

func find(u *unstructured.Unstructured, condition string) (want, int64) {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		c := item.(map[string]any)
		if c["type"] == condition {
			generation, _ := c["observedGeneration"].(int64)
			return want{fmt.Sprint(c["status"]), fmt.Sprint(c["reason"]), fmt.Sprint(c["message"])}, generation
		}
	}
	return want{}, -1
}

func conditions(obj external.Object) []string {
	var all []string
	for _, c := range obj.GetExternalStatus().Conditions {
		all = append(all, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Message))
	}
	return all
}

// id returns the id of an object's resource.
func (w *world) id(kind, name string) string {
	w.t.Helper()
	id, _, _ := unstructured.NestedString(w.get(kind, name).Object, "status", "id")
	if id == "" {
		w.t.Fatalf("%s/%s has no id", kind, name)
	}
	return id
}

// reports waits until status.resource has these values, by field.
func (w *world) reports(kind, name string, expected map[string]any) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		resource, _, _ := unstructured.NestedMap(w.get(kind, name).Object, "status", "resource")
		got := map[string]any{}
		for field := range expected {
			got[field] = resource[field]
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			return fmt.Errorf("%s/%s reports (-want +got):\n%s", kind, name, diff)
		}
		return nil
	})
}

// gone waits until objects are gone.
func (w *world) gone(kind string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		testenv.Eventually(w.t, func() error {
			u := object(kind).(*unstructured.Unstructured)
			err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, u)
			if apierrors.IsNotFound(err) {
				return nil
			}
			progressing, _ := find(u, "Progressing")
			return errors.Join(err, fmt.Errorf("%s/%s is still there: %v %v", kind, name, u.GetFinalizers(), progressing))
		})
	}
}

// held waits until an object has exactly these finalizers, given by their kinds.
func (w *world) held(kind, name string, by ...string) {
	w.t.Helper()
	expected := []string{}
	for _, k := range by {
		expected = append(expected, "openstack.k-orc.cloud/"+k)
	}
	slices.Sort(expected)
	testenv.Eventually(w.t, func() error {
		got := append([]string{}, w.get(kind, name).GetFinalizers()...)
		slices.Sort(got)
		if diff := cmp.Diff(expected, got); diff != "" {
			return fmt.Errorf("finalizers of %s/%s (-want +got):\n%s", kind, name, diff)
		}
		return nil
	})
}

// Inventory of the cloud.

// inCloud returns the IDs of resources with a name in the cloud.
func (w *world) inCloud(resource, name string) []string {
	var ids []string
	for _, item := range w.cloud.Inventory()[resource] {
		if item.Name == name {
			ids = append(ids, item.ID)
		}
	}
	return ids
}

// quiet is longer than anything in the pack that is put off, but for polls.
const quiet = 2 * time.Second

// calls returns how many calls the cloud has got, tokens and versions aside.
func (w *world) calls(service string) int {
	n := 0
	for call, times := range w.cloud.Calls() {
		if call.Service == service && call.Resource != "" && !strings.HasPrefix(call.Resource, "auth") {
			n += times
		}
	}
	return n
}

// admin returns a client of the network service of the cloud.
func (w *world) admin() *gophercloud.ServiceClient {
	w.t.Helper()
	return w.client((*openstack.Scope).Network)
}

// services are where collections are found, by the beginning of their names.
var services = map[string]service{
	"identity": (*openstack.Scope).Identity, "compute": (*openstack.Scope).Compute, "image": (*openstack.Scope).Image,
	"network": (*openstack.Scope).Network, "volume": (*openstack.Scope).Volume, "share": (*openstack.Scope).Share,
}

// paths are the paths of collections with another name in the inventory.
var paths = map[string]string{"keypairs": "os-keypairs", "server_groups": "os-server-groups"}

// address returns the address of a resource, and a client with the right to read it.
func (w *world) address(collection, id string) (*gophercloud.ServiceClient, string) {
	w.t.Helper()
	service, path, _ := strings.Cut(collection, "/")
	c := w.client(services[service])
	if known, other := paths[path]; other {
		path = known
	}
	return c, c.ServiceURL(strings.ReplaceAll(path, "_", "-"), id)
}

// deleteOutside deletes a resource as a person would.
func (w *world) deleteOutside(collection, id string) {
	w.t.Helper()
	c, address := w.address(collection, id)
	if collection == "identity/domains" { // Keystone refuses to delete an enabled domain.
		disabled := map[string]any{"domain": map[string]bool{"enabled": false}}
		if err := kit.Call(w.t.Context(), c, http.MethodPatch, address, disabled, nil); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := kit.Call(w.t.Context(), c, http.MethodDelete, address, nil, nil); err != nil {
		w.t.Fatal(err)
	}
}

// remade waits until the cloud has the resource in an object's status, after a deletion by
// hand. For some kinds, the ID is that of the former resource.
func (w *world) remade(kind, name, collection string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		id, there := w.id(kind, name), w.cloud.Inventory()[collection]
		is := func(item emulator.Item) bool { return item.ID == id || strings.HasSuffix(item.ID, "/"+id) } // A user's.
		if !slices.ContainsFunc(there, is) {
			return fmt.Errorf("%s/%s has id %s, the cloud has %v", kind, name, id, there)
		}
		return nil
	})
	w.available(kind, name)
}

// becomes waits until an object has another resource.
func (w *world) becomes(kind, name, before string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if id, _, _ := unstructured.NestedString(w.get(kind, name).Object, "status", "id"); id == before || id == "" {
			return fmt.Errorf("%s/%s has id %q", kind, name, id)
		}
		return nil
	})
}

// setSecret changes the credentials.
func (w *world) setSecret(clouds string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		secret := w.secret("cloud", "")
		if err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil {
			return err
		}
		secret.Data["clouds.yaml"] = []byte(clouds)
		return w.c.Update(w.t.Context(), secret)
	})
}

// fails waits until an object's Progressing condition has a reason.
func (w *world) fails(kind, name, reason string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		if progressing, _ := find(w.get(kind, name), "Progressing"); progressing.reason != reason {
			return fmt.Errorf("%s/%s: %+v, want reason %s", kind, name, progressing, reason)
		}
		return nil
	})
}

// settles waits until the cloud has got no call for a while.
func (w *world) settles() {
	w.t.Helper()
	calls, since := w.cloud.CallCount(""), time.Now()
	testenv.Eventually(w.t, func() error {
		if now := w.cloud.CallCount(""); now != calls {
			calls, since = now, time.Now()
		}
		if time.Since(since) < quiet {
			return errors.New("the cloud is still called")
		}
		return nil
	})
}
