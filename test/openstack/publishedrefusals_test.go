package openstack_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// refusal is a spec that every kind refuses, RouterInterface aside.
type refusal struct {
	// message is the published text.
	message string
	policy  string
	// found, made and options say whether spec.import, spec.resource and
	// spec.managedOptions are there.
	found, made, options bool
}

var refusals = []refusal{
	{message: "resource must be specified when policy is managed"},
	{message: "import may not be specified when policy is managed", policy: "managed", found: true, made: true},
	{message: "resource may not be specified when policy is unmanaged", policy: "unmanaged", found: true, made: true},
	{message: "import must be specified when policy is unmanaged", policy: "unmanaged"},
	{
		message: "managedOptions may only be provided when policy is managed",
		policy:  "unmanaged", found: true, options: true,
	},
}

// spec returns a refused spec of a kind.
func (r refusal) spec(t *testing.T, kind string) map[string]any {
	t.Helper()
	spec := map[string]any{"cloudCredentialsRef": map[string]any{"secretName": "cloud", "cloudName": "openstack"}}
	if r.policy != "" {
		spec["managementPolicy"] = r.policy
	}
	if r.found {
		spec["import"] = map[string]any{"id": "7fffffff-0000-4000-8000-000000000000"}
		if kind == "RoleAssignment" { // The kind has no ID.
			spec["import"] = map[string]any{"filter": map[string]any{"roleRef": "it"}}
		}
	}
	if r.made {
		var resource map[string]any
		if err := yaml.Unmarshal([]byte(scenarioOf(kind).minimal), &resource); err != nil {
			t.Fatal(err)
		}
		spec["resource"] = resource
	}
	if r.options {
		spec["managedOptions"] = map[string]any{}
	}
	return spec
}

// testPublishedRefusals: every kind refuses a spec with too many or too few fields, and a
// change of the policy, with the published texts.
func testPublishedRefusals(t *testing.T) {
	w := newWorld(t)
	dryRun := client.NewDryRunClient(w.c)
	for _, k := range publishedKinds {
		if k.kind == "RouterInterface" {
			continue
		}
		for _, r := range refusals {
			u := object(k.kind).(*unstructured.Unstructured)
			u.SetNamespace(w.ns)
			u.SetName("it")
			u.Object["spec"] = r.spec(t, k.kind)
			if err := dryRun.Create(t.Context(), u); err == nil || !strings.Contains(err.Error(), r.message) {
				t.Errorf("%s: %v, want %q", k.kind, err, r.message)
			}
		}
	}
	w.apply(managed("Network", "it", "{}"))
	err := w.c.Patch(t.Context(), w.get("Network", "it"), client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"managementPolicy":"unmanaged","resource":null,"import":{"filter":{"name":"it"}}}}`)))
	if err == nil || !strings.Contains(err.Error(), "managementPolicy is immutable") {
		t.Errorf("another policy: %v", err)
	}
}
