// Package azurekinds_test shows the definitions of Azure's kinds to a real API server.
package azurekinds_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/gen/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	operator.Packs("azure")
	testenv.Main(m, testenv.WithoutPods(), testenv.CRDs("../../config/crd/kinship.dev_referencegrants.yaml"))
}

// TestProvider: the API server accepts the definitions of all kinds of a provider, and the example of
// each.
func TestProvider(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := c.Match("Microsoft.Network/*@2020-03-01")
	if err != nil {
		t.Fatal(err)
	}
	if len(kinds) != 63 {
		t.Errorf("%d kinds", len(kinds))
	}
	for _, k := range kinds {
		crd, err := catalogue.CRD(c, []*catalogue.Kind{k})
		if err != nil {
			t.Fatal(err)
		}
		apply(t, crd.Object)
	}
	for _, k := range kinds {
		spec, err := azure.Example(k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := testenv.TryApply(t, text(t, object(k, spec))); err != nil {
			t.Errorf("the example of %s: %v", k.Kind, err)
		}
		remove(t, k)
	}
	subnet := c.Default("Microsoft.Network/virtualNetworks/subnets")
	for want, spec := range map[string]string{
		"give exactly one of kubernetes, azure": `{"ownerRef": {"kubernetes": {"name": "a"}, "azure": {}}}`,
		"spec.ownerRef: Required value":         `{}`,
		"spec.azureName":                        `{"ownerRef": {"kubernetes": {"name": "a"}}, "azureName": "a/b"}`,
		"spec.routeTable.kubernetes.kind": `{"ownerRef": {"kubernetes": {"name": "a"}},
			"routeTable": {"kubernetes": {"name": "b", "kind": "Subnet"}}}`,
	} {
		var wrong map[string]any
		if err := json.Unmarshal([]byte(spec), &wrong); err != nil {
			t.Fatal(err)
		}
		refused := object(subnet, wrong)
		refused["metadata"] = map[string]any{"name": "wrong"}
		if _, err := testenv.TryApply(t, text(t, refused)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}

// TestRestIsStored: null and other values that the schema doesn't know are what they were when they come
// back from the API server.
func TestRestIsStored(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	k := c.Default("Microsoft.Batch/batchAccounts")
	crd, err := catalogue.CRD(c, []*catalogue.Kind{k})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, crd.Object)
	const before = `{"name":"a","location":"here","tags":null,"id":"/x",` +
		`"properties":{"later":{"deep":[null,{"x":null}],"n":1.5}}}`
	var body map[string]any
	if err := json.Unmarshal([]byte(before), &body); err != nil {
		t.Fatal(err)
	}
	spec, rest, err := k.FromARM(body, catalogue.Conversion{})
	if err != nil {
		t.Fatal(err)
	}
	catalogue.SetRest(spec, rest)
	spec[catalogue.OwnerField] = map[string]any{"azure": map[string]any{"resourceGroup": "g"}}
	stored := apply(t, object(k, spec))
	remove(t, k)
	storedSpec, _, err := unstructured.NestedMap(stored.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	after, err := k.ToARM(storedSpec, catalogue.Conversion{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, after), text(t, body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func object(k *catalogue.Kind, spec map[string]any) map[string]any {
	version, kind := k.GroupVersionKind().ToAPIVersionAndKind()
	return map[string]any{
		"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": "example"}, "spec": spec,
	}
}

// remove deletes the example of a kind at the end of the test: another test has an operator.
func remove(t *testing.T, k *catalogue.Kind) {
	t.Helper()
	t.Cleanup(func() {
		u := &unstructured.Unstructured{Object: object(k, nil)}
		u.SetNamespace("default")
		if err := client.IgnoreNotFound(operator.Client(t).Delete(context.WithoutCancel(t.Context()), u)); err != nil {
			t.Error(err)
		}
	})
}

func text(t *testing.T, value map[string]any) string {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func apply(t *testing.T, value map[string]any) *unstructured.Unstructured {
	t.Helper()
	return testenv.Apply(t, text(t, value))[0]
}
