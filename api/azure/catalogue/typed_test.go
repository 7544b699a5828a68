package catalogue_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	batch "github.com/kinship-dev/kinship/api/azure/batch/v20170901"
	"github.com/kinship-dev/kinship/api/azure/catalogue"
	compute "github.com/kinship-dev/kinship/api/azure/compute/v20190701"
	network2020 "github.com/kinship-dev/kinship/api/azure/network/v20200301"
	resources "github.com/kinship-dev/kinship/api/azure/resources/v20180501"
)

// typedKinds returns the kinds of the typed packages, and their Go types.
func typedKinds(t *testing.T) map[schema.GroupVersionKind]reflect.Type {
	t.Helper()
	scheme := runtime.NewScheme()
	groups := map[string]schema.GroupVersion{
		"batch": batch.GroupVersion, "compute": compute.GroupVersion, "network": network2020.GroupVersion,
		"resources": resources.GroupVersion,
	}
	for _, add := range []func(*runtime.Scheme) error{
		batch.AddToScheme, compute.AddToScheme, network2020.AddToScheme, resources.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kinds := map[schema.GroupVersionKind]reflect.Type{}
	for _, version := range groups {
		for kind, goType := range scheme.KnownTypes(version) {
			if _, isObject := goType.FieldByName("Spec"); isObject && strings.Contains(goType.PkgPath(), "/api/azure/") {
				kinds[version.WithKind(kind)] = goType
			}
		}
	}
	return kinds
}

// TestTypedKinds: the typed packages have exactly the kinds that are the defaults of the embedded
// catalogue, with the owners' groups and kinds.
func TestTypedKinds(t *testing.T) {
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	types := typedKinds(t)
	defaults := 0
	for _, k := range c.Kinds() {
		if !k.Default {
			continue
		}
		defaults++
		object, ok := types[k.GroupVersionKind()]
		if !ok {
			t.Errorf("%s has no Go type", k.GroupVersionKind())
			continue
		}
		spec, _ := object.FieldByName("Spec")
		field, _ := spec.Type.FieldByName("OwnerRef")
		owner := c.Default(k.Owner)
		if owner == nil {
			owner = &catalogue.Kind{}
		}
		if field.Tag.Get("group") != owner.Group || field.Tag.Get("kind") != owner.Kind {
			t.Errorf("the owner of %s is tagged %q instead of %s in %s", k.Kind, field.Tag, owner.Kind, owner.Group)
		}
	}
	if defaults != 86 || len(types) != 86 {
		t.Errorf("%d default kinds, and %d Go types", defaults, len(types))
	}
}

func recoded(t rapid.TB, from, to any) {
	text, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// newSpec returns an empty spec of a typed kind.
func newSpec(t rapid.TB, kind reflect.Type) catalogue.ARMTransformer {
	t.Helper()
	spec, ok := reflect.TypeAssert[catalogue.ARMTransformer](reflect.New(kind).Elem().FieldByName("Spec").Addr())
	if !ok {
		t.Fatalf("the spec of %s is no ARMTransformer", kind)
	}
	return spec
}

// TestTypedConversion: the typed spec of a body is the spec that the catalogue makes of the body, and its
// ARM form is the body with name, type and apiVersion.
func TestTypedConversion(t *testing.T) {
	eachTyped(t, func(k *catalogue.Kind, definition *catalogue.Definition, goType reflect.Type) {
		rapid.Check(t, func(t *rapid.T) {
			input, ok := body(t, definition.Body, 7).(map[string]any)
			if !ok {
				input = map[string]any{}
			}
			var before map[string]any
			recoded(t, input, &before)
			typed, again := newSpec(t, goType), newSpec(t, goType)
			if err := typed.FromArm(before); err != nil {
				t.Fatal(err)
			}
			untyped, rest, err := k.FromARM(before, catalogue.Conversion{})
			if err != nil {
				t.Fatal(err)
			}
			catalogue.SetRest(untyped, rest)
			var got, want map[string]any
			recoded(t, typed, &got)
			recoded(t, untyped, &want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("spec of %s (-catalogue +typed):\n%s", k.Type, diff)
			}
			out, err := typed.ToArm(network)
			if err != nil {
				t.Fatal(err)
			}
			var after map[string]any
			recoded(t, out, &after)
			if after["type"] != k.Type || after["apiVersion"] != k.APIVersion {
				t.Fatalf("the ARM form of %s has type %v and apiVersion %v", k.Type, after["type"], after["apiVersion"])
			}
			delete(after, "type")
			delete(after, "apiVersion")
			if diff := cmp.Diff(definition.Strip(before), after); diff != "" {
				t.Fatalf("body of %s (-before +after):\n%s", k.Type, diff)
			}
			if err := again.FromArm(out); err != nil {
				t.Fatal(err)
			}
			var second map[string]any
			recoded(t, again, &second)
			if diff := cmp.Diff(got, second); diff != "" {
				t.Fatalf("spec of %s from its ARM form (-first +second):\n%s", k.Type, diff)
			}
		})
	})
}

// eachTyped calls visit for each kind with a Go type.
func eachTyped(t *testing.T, visit func(k *catalogue.Kind, definition *catalogue.Definition, goType reflect.Type)) {
	t.Helper()
	c, err := catalogue.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for gvk, goType := range typedKinds(t) {
		k := c.Find(gvk)
		definition, err := k.Definition()
		if err != nil {
			t.Fatal(err)
		}
		visit(k, definition, goType)
	}
}

// TestTypedSubnet: the seed's example in Go. The name is that of a deployment template.
func TestTypedSubnet(t *testing.T) {
	name, prefix := "web", "10.0.0.0/24"
	spec := network2020.VirtualNetworksSubnetSpec{
		AzureName: &name, AddressPrefix: &prefix,
		RouteTable: &catalogue.Reference{Azure: &catalogue.AzureReference{Name: "Microsoft.Network/routeTables/routes"}},
	}
	const vnet = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/net"
	arm, err := spec.ToArm(vnet)
	if err != nil {
		t.Fatal(err)
	}
	subnet, ok := arm.(*network2020.VirtualNetworksSubnetSpecArm)
	if !ok || subnet.Name != "net/web" || *subnet.Properties.AddressPrefix != prefix ||
		subnet.Properties.RouteTable.ID != "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/routeTables/routes" {
		t.Errorf("got %#v", arm)
	}
	spec.RouteTable = &catalogue.Reference{Kubernetes: &catalogue.KubernetesReference{Name: "routes"}}
	if _, err := spec.ToArm(vnet); err == nil || !strings.Contains(err.Error(), "spec.routeTable: the ARM id") {
		t.Errorf("a reference that can't be resolved: %v", err)
	}
	if err := spec.FromArm(map[string]any{"type": "Microsoft.Network/routeTables"}); err == nil {
		t.Error("a body of another type is accepted")
	}
}
