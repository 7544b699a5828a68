package azure_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/cloud/azure/emulator"
	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// world is the namespace of a test, with an emulated Azure and an operator.
type world struct {
	testenv.World

	cloud *emulator.Server
	// credential is the option of the operator; empty means none.
	credential string
	submission packazure.Submission
	// subscription differs from test to test, so that no id is that of another test.
	subscription string
	// tolerated are the reasons for which the cloud may refuse requests of the operator.
	tolerated []emulator.Reason
}

// cloudOptions are those of a cloud that does not tell when to ask again, as Azure does by many seconds.
var cloudOptions = emulator.Options{RetryAfter: -1}

// atOnce are those of a cloud that ends operations before it answers, so that the operator asks for none of them
// again: for tests of anything else than operations.
var atOnce = emulator.Options{RetryAfter: -1, BuildTime: -1}

// newWorld starts an emulated cloud with an operator, and makes a namespace.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newCloud(t, cloudOptions)
	w.start()
	return w
}

// newPromptWorld is newWorld with a cloud atOnce.
func newPromptWorld(t *testing.T) *world {
	t.Helper()
	w := newCloud(t, atOnce)
	w.start()
	return w
}

// start starts an operator until the end of the test, which deletes all objects before.
func (w *world) start() {
	w.T.Helper()
	operator.Start(w.T, w.options)
	w.T.Cleanup(w.tidyUp)
}

// tidyUp deletes all objects at once, and waits for their end.
func (w *world) tidyUp() {
	ctx := context.WithoutCancel(w.T.Context())
	w.cloud.ClearFaults()
	kinds := kindsOf(enabled...)
	left := make([]*unstructured.UnstructuredList, 0, len(kinds))
	for _, k := range kinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.GroupVersionKind())
		if err := w.C.List(ctx, list, client.InNamespace(w.NS)); err != nil {
			w.T.Errorf("tidy up: %v", err)
		}
		for i := range list.Items {
			if err := w.C.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
				w.T.Errorf("tidy up: %v", err)
			}
		}
		left = append(left, list)
	}
	testenv.Eventually(w.T, func() error {
		for _, list := range left {
			if err := w.C.List(ctx, list, client.InNamespace(w.NS)); err != nil {
				return err
			}
			for i := range list.Items {
				u := &list.Items[i]
				return fmt.Errorf("left behind: %s/%s %v: %s", u.GetKind(), u.GetName(), u.GetFinalizers(), readyOf(u))
			}
		}
		return nil
	})
}

// enableOnce enables the kinds of all tests. The API server compiles the rules of every definition that is
// applied, which takes it longer than most tests. A test that takes rights away gives them back.
var enableOnce sync.Once

// newCloud starts an emulated cloud, and makes a namespace. At the end of the test, the cloud must have refused
// nothing ([world.noneRefused]).
func newCloud(t *testing.T, options emulator.Options) *world {
	t.Helper()
	cloud, err := emulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	sum := sha256.Sum256([]byte(t.Name()))
	w := &world{
		World: testenv.NewWorld(t, operator.Client(t)), cloud: cloud,
		subscription: fmt.Sprintf("%x-1111-2222-3333-444444444444", sum[:4]),
	}
	t.Cleanup(w.noneRefused)
	enableOnce.Do(func() { w.enable(enabled...) })
	return w
}

// options has an operator use the cloud.
func (w *world) options(o *options.Options) {
	o.Azure.Endpoint, o.Azure.Credential = w.cloud.URL(), cmp.Or(w.credential, azure.NoCredential)
	o.Azure.Subscription, o.Azure.Submission = w.subscription, w.submission
}

// enable enables kinds as kinship azure enable does.
func (w *world) enable(types ...string) {
	w.T.Helper()
	ctx := context.WithoutCancel(w.T.Context())
	if err := packazure.Enable(ctx, w.C, all(), kindsOf(types...), install.AzureGrant()); err != nil {
		w.T.Fatal(err)
	}
}

// short are the names of kinds in tests.
var short = map[string]string{
	"rg": "Microsoft.Resources/resourceGroups", "vnet": "Microsoft.Network/virtualNetworks",
	"subnet":  "Microsoft.Network/virtualNetworks/subnets",
	"peering": "Microsoft.Network/virtualNetworks/virtualNetworkPeerings", "table": "Microsoft.Network/routeTables",
	"route": "Microsoft.Network/routeTables/routes", "nsg": "Microsoft.Network/networkSecurityGroups",
	"ip": "Microsoft.Network/publicIPAddresses", "nic": "Microsoft.Network/networkInterfaces",
	"lb": "Microsoft.Network/loadBalancers", "vmss": "Microsoft.Compute/virtualMachineScaleSets",
	"sql": "Microsoft.Sql/servers", "containers": "Microsoft.ContainerInstance/containerGroups",
	"lock": "Microsoft.Authorization/locks", "role": "Microsoft.Authorization/roleAssignments",
	"job":     "Microsoft.DataBox/jobs",
	"account": "Microsoft.Batch/batchAccounts", "pool": "Microsoft.Batch/batchAccounts/pools",
}

func kindOf(kind string) *catalogue.Kind {
	if long, ok := short[kind]; ok {
		kind = long
	}
	return all().Default(kind)
}

// manifest is an object; owner is the name of its owner, and may be empty.
func manifest(kind, name, owner, fields string) string {
	k := kindOf(kind)
	spec := []string{}
	if owner != "" {
		spec = append(spec, "ownerRef: {kubernetes: {name: "+owner+"}}")
	}
	if fields != "" {
		spec = append(spec, fields)
	}
	return fmt.Sprintf("apiVersion: %s/%s\nkind: %s\nmetadata: {name: %s}\nspec: {%s}\n---\n",
		k.Group, k.Version, k.Kind, name, strings.Join(spec, ", "))
}

func group(name string) string { return manifest("rg", name, "", "location: westeurope") }

func vnet(name, owner string) string {
	return manifest("vnet", name, owner, "location: westeurope, addressSpace: {addressPrefixes: [10.0.0.0/16]}")
}

func subnet(name, owner string, fields ...string) string {
	return manifest("subnet", name, owner, strings.Join(append([]string{"addressPrefix: 10.0.1.0/24"}, fields...), ", "))
}

func (w *world) apply(manifests ...string) {
	w.T.Helper()
	testenv.Apply(w.T, strings.Join(manifests, ""), testenv.In(w.NS))
}

// refused applies a manifest, which the API server has to refuse with a message.
func (w *world) refused(manifest, message string) {
	w.T.Helper()
	if _, err := testenv.TryApply(w.T, manifest, testenv.In(w.NS)); err == nil || !strings.Contains(err.Error(), message) {
		w.T.Errorf("answered with %v, want a refusal with %q", err, message)
	}
}

func (w *world) blank(kind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kindOf(kind).GroupVersionKind())
	u.SetNamespace(w.NS)
	u.SetName(name)
	return u
}

func (w *world) get(kind, name string) *unstructured.Unstructured {
	w.T.Helper()
	u := w.blank(kind, name)
	if err := w.Read(u); err != nil {
		w.T.Fatal(err)
	}
	return u
}

// delete deletes objects in the given order, each as "kind/name", and doesn't wait.
func (w *world) delete(objects ...string) {
	w.T.Helper()
	for _, one := range objects {
		kind, name := split(one)
		if err := w.C.Delete(w.T.Context(), w.blank(kind, name)); err != nil {
			w.T.Fatalf("delete %s: %v", one, err)
		}
	}
}

// gone waits until objects are gone, each as "kind/name".
func (w *world) gone(objects ...string) {
	w.T.Helper()
	for _, one := range objects {
		kind, name := split(one)
		testenv.Eventually(w.T, func() error {
			u := w.blank(kind, name)
			if err := w.Read(u); err != nil {
				return client.IgnoreNotFound(err)
			}
			return fmt.Errorf("%s is there: %v %s", one, u.GetFinalizers(), readyOf(u))
		})
	}
}

// condition is the condition Ready, as "status reason message".
func readyOf(u *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] == "Ready" && c["observedGeneration"] == u.GetGeneration() {
			return fmt.Sprintf("%v %v %v", c["status"], c["reason"], c["message"])
		}
	}
	return "no condition of this generation"
}

// ready waits until objects are Ready, each as "kind/name".
func (w *world) ready(objects ...string) {
	w.T.Helper()
	for _, one := range objects {
		w.says(one, "True Success Azure resource is available")
	}
}

// says waits until the condition Ready of an object says something.
func (w *world) says(one, want string) {
	w.T.Helper()
	kind, name := split(one)
	testenv.Eventually(w.T, func() error {
		u := w.blank(kind, name)
		if err := w.Read(u); err != nil {
			return err
		}
		if got := readyOf(u); !strings.Contains(got, want) {
			return fmt.Errorf("%s says %q, want %q", one, got, want)
		}
		return nil
	})
}

// edit changes the spec of an object by a JSON merge patch.
func (w *world) edit(one, patch string) {
	w.T.Helper()
	kind, name := split(one)
	change := client.RawPatch(types.MergePatchType, []byte(patch))
	if err := w.C.Patch(w.T.Context(), w.blank(kind, name), change); err != nil {
		w.T.Fatal(err)
	}
}

// finalizer keeps an object until its resource is deleted.
const finalizer = packazure.Prefix + "/resource"

// refusedEdit changes an object by a JSON merge patch, which the API server has to refuse with a message.
func (w *world) refusedEdit(one, patch, message string) {
	w.T.Helper()
	kind, name := split(one)
	err := w.C.Patch(w.T.Context(), w.blank(kind, name), client.RawPatch("application/merge-patch+json", []byte(patch)))
	if err == nil || !strings.Contains(err.Error(), message) {
		w.T.Errorf("%s: answered with %v, want a refusal with %q", one, err, message)
	}
}

// id returns status.id of an object.
func (w *world) id(one string) azure.ID {
	w.T.Helper()
	kind, name := split(one)
	text, _, _ := unstructured.NestedString(w.get(kind, name).Object, "status", "id")
	id, err := azure.ParseID(text)
	if err != nil {
		w.T.Fatalf("%s has the id %q", one, text)
	}
	return id
}

// inCloud expects exactly these resources in the cloud, by their names.
func (w *world) inCloud(names ...string) {
	w.T.Helper()
	inventory := w.cloud.Inventory()
	got := make([]string, 0, len(inventory))
	for _, item := range inventory {
		got = append(got, item.ID[strings.LastIndexByte(item.ID, '/')+1:])
	}
	slices.Sort(got)
	slices.Sort(names)
	if !slices.Equal(got, names) {
		w.T.Errorf("the cloud has %v, want %v", got, names)
	}
}

// calls returns the number of requests of a method for a kind.
func (w *world) calls(method, kind string) (n int) {
	for call, number := range w.cloud.Calls() {
		if call.Method == method && strings.EqualFold(call.Type, kindOf(kind).Type) {
			n += number
		}
	}
	return n
}

// noneRefused expects that the cloud refused nothing since resetCalls, except for world.tolerated.
func (w *world) noneRefused() {
	w.T.Helper()
	for _, r := range w.cloud.Refusals() {
		if !slices.Contains(w.tolerated, r.Reason) {
			w.T.Errorf("the cloud refused: %+v", r)
		}
	}
}

// resetCalls calls noneRefused, and has the cloud forget all calls.
func (w *world) resetCalls() {
	w.T.Helper()
	w.noneRefused()
	w.cloud.ResetCalls()
}

// split returns the kind and the name in "kind/name" or, for an ARM type, "type:name".
func split(one string) (kind, name string) {
	if kind, name, ok := strings.Cut(one, ":"); ok {
		return kind, name
	}
	kind, name, _ = strings.Cut(one, "/")
	return kind, name
}
