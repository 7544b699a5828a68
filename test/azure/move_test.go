package azure_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/kinship-dev/kinship/internal/cli/azuremove"
	"github.com/kinship-dev/kinship/internal/cloud/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// written returns the manifest of an object.
func written(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	text, err := sigsyaml.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "---\n"
}

// named returns the names of objects, each as "type:name".
func named(objects []*unstructured.Unstructured) []string {
	names := make([]string, 0, len(objects))
	for _, u := range objects {
		names = append(names, typeOf(u)+":"+u.GetName())
	}
	return names
}

// TestConvert: twenty manifests of Azure Service Operator v2 are converted without a rest, and become Ready. An
// annotation of that operator becomes the policy of deletion.
func TestConvert(t *testing.T) {
	w := newPromptWorld(t)
	text, err := os.ReadFile("testdata/other.yaml")
	if err != nil {
		t.Fatal(err)
	}
	theirs := testenv.Documents(t, bytes.ReplaceAll(text, []byte("SUBSCRIPTION"), []byte(w.subscription)))
	if len(theirs) != 20 {
		t.Fatalf("%d manifests, want 20", len(theirs))
	}
	var objects []*unstructured.Unstructured
	var manifests []string
	for _, other := range theirs {
		ours, left, err := azuremove.Convert(all(), other)
		if err != nil || len(left) > 0 {
			t.Errorf("%s/%s: left out %v: %v", other.GetKind(), other.GetName(), left, err)
			continue
		}
		objects, manifests = append(objects, ours), append(manifests, written(t, ours))
	}
	if t.Failed() {
		t.FailNow()
	}
	theirGroup := "/subscriptions/" + w.subscription + "/resourceGroups/theirs"
	w.exists(theirGroup, "2018-05-01", map[string]any{"location": "westeurope"})
	// The first one, a scale set, names a part of the load balancer by its armId. No object tells when that exists.
	w.apply(manifests[1:]...)
	w.ready("lb/entrance")
	w.apply(manifests[0])
	w.ready(named(objects)...)
	if got := w.id("vnet/inside").Name(); got != "Inside" {
		t.Errorf("the network is named %q, want its azureName", got)
	}
	pool, _, _ := unstructured.NestedString(w.get("pool", "nightly").Object,
		"status", "resource", "properties", "networkConfiguration", "subnetId")
	if want := w.id("subnet/store").String(); pool != want {
		t.Errorf("the pool is in the subnet %q, want %q", pool, want)
	}
	w.delete("rg/shop", "vnet/outside")
	w.gone(named(objects)...)
	w.inCloud("theirs", "outside")
}

// TestImport: the manifests that the import of a running tree writes are applied. The cloud gets no write, neither
// from unmanaged objects nor when the objects become managed.
func TestImport(t *testing.T) {
	w := newPromptWorld(t)
	before := w.tree()
	cloud, err := azure.NewClient(azure.Options{Endpoint: w.cloud.URL()})
	if err != nil {
		t.Fatal(err)
	}
	id, err := azure.ParseID("/subscriptions/" + w.subscription + "/resourceGroups/shop")
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	var manifests []string
	err = azuremove.Importer{
		Kinds: all(), Cloud: cloud, Types: enabled,
		Write: func(u *unstructured.Unstructured) error {
			objects, manifests = append(objects, u), append(manifests, written(t, u))
			return nil
		},
		Tell: func(format string, arguments ...any) { t.Logf(format, arguments...) },
	}.Import(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := named(objects); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(before))) {
		t.Fatalf("imported %v, want %v", got, before)
	}
	w.resetCalls()
	slices.Reverse(manifests)
	w.apply(manifests...)
	w.ready(named(objects)...)
	w.noWrites("unmanaged")
	for _, one := range named(objects) {
		w.edit(one, `{"spec":{"managementPolicy":"managed"}}`)
	}
	w.ready(named(objects)...)
	w.noWrites("managed")
	for _, u := range objects {
		if finalizers := w.get(typeOf(u), u.GetName()).GetFinalizers(); !slices.Contains(finalizers, finalizer) {
			t.Errorf("%s %s is managed with the finalizers %v", u.GetKind(), u.GetName(), finalizers)
		}
	}
	w.refusedEdit("vnet/internal", `{"spec":{"managementPolicy":"unmanaged"}}`, "from unmanaged to managed, and not back")
	w.noneRefused()
	w.delete("rg/shop")
	w.gone(named(objects)...)
	w.inCloud()
}

// TestTakenTwice: of two unmanaged objects of one resource, one can become managed. The other one has no resource
// then, and its deletion leaves the resource alone. It gets the resource when the first one leaves it.
func TestTakenTwice(t *testing.T) {
	w := newPromptWorld(t)
	const spec = "location: westeurope, managementPolicy: unmanaged, import: {id: /subscriptions/%s/resourceGroups/%s}"
	copied := func(name, group string) string {
		return manifest("rg", name, "", fmt.Sprintf(spec, w.subscription, group))
	}
	w.exists("/subscriptions/"+w.subscription+"/resourceGroups/rg", "2018-05-01", map[string]any{"location": "westeurope"})
	w.resetCalls()
	w.apply(copied("one", "rg"), copied("two", "RG"), copied("three", "Rg"))
	w.ready("rg/one", "rg/two", "rg/three")
	manage := `{"spec":{"managementPolicy":"managed","managedOptions":{"onDelete":"detach"}}}`
	w.edit("rg/one", manage)
	w.ready("rg/one")
	for _, one := range []string{"rg/two", "rg/three"} {
		w.edit(one, `{"spec":{"managementPolicy":"managed"}}`)
		w.says(one, "belongs to another object already")
	}
	w.delete("rg/three")
	w.gone("rg/three")
	w.inCloud("rg")
	w.delete("rg/one")
	w.gone("rg/one")
	w.ready("rg/two")
	w.noWrites("managed")
	w.delete("rg/two")
	w.gone("rg/two")
	w.inCloud()
}

// tree creates the resources of the example, and deletes their objects. It returns the names of the objects.
func (w *world) tree() []string {
	w.T.Helper()
	objects := make([]*unstructured.Unstructured, 0, 12)
	for _, file := range []string{"group", "stack"} {
		objects = append(objects, testenv.ApplyFile(w.T, "../../examples/azure/"+file+".yaml", testenv.In(w.NS))...)
	}
	names := named(objects)
	w.ready(names...)
	for _, one := range names {
		w.edit(one, `{"spec":{"managedOptions":{"onDelete":"detach"}}}`)
	}
	w.ready(names...)
	w.delete("rg/shop")
	w.gone(names...)
	if got := len(w.cloud.Inventory()); got != len(names) {
		w.T.Fatalf("%d resources are left of %d", got, len(names))
	}
	return names
}

// noWrites expects that only GETs were sent.
func (w *world) noWrites(when string) {
	w.T.Helper()
	var writes []string
	for call, n := range w.cloud.Calls() {
		if call.Method != http.MethodGet {
			writes = append(writes, fmt.Sprintf("%s %s %d times", call.Method, call.Type, n))
		}
	}
	if len(writes) > 0 {
		w.T.Errorf("%s objects sent %s", when, strings.Join(writes, ", "))
	}
}
