package chart_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/pack/iot"
	"github.com/kinship-dev/kinship/internal/pack/usage"
	"github.com/kinship-dev/kinship/release/chart"
)

const directory = "../../charts/kinship"

// values are values of a chart in JSON.
func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("values %s: %v", text, err)
	}
	return v
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := chart.Load(directory)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func render(t *testing.T, text string, versions ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := load(t).Objects(t.Context(), values(t, text), chart.Cluster{APIVersions: versions})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for _, u := range objects {
		if key := keyOf(u); all[key] != nil {
			t.Errorf("%s is rendered twice", key)
		}
		all[keyOf(u)] = u
	}
	return all
}

func keyOf(u *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", u.GetKind(), u.GetNamespace(), u.GetName())
}

// chartOnly are the kinds of objects that the chart has and --install does not.
var chartOnly = []string{
	"Deployment ", "Service ", "PodDisruptionBudget ", "NetworkPolicy ",
}

// only returns values with some packs on.
func only(packs ...string) string {
	parts := make([]string, 0, len(options.PackNames()))
	for _, name := range options.PackNames() {
		on := false
		for _, p := range packs {
			on = on || p == name
		}
		parts = append(parts, fmt.Sprintf("%q: {\"enabled\": %t}", name, on))
	}
	return `"packs": {` + strings.Join(parts, ", ") + `}`
}

// TestChartIsInstall: for all values below, the chart has exactly the objects that `kinship operator
// --install` applies.
func TestChartIsInstall(t *testing.T) {
	resources := func(names ...string) []schema.GroupResource {
		all := make([]schema.GroupResource, 0, len(names))
		for _, name := range names {
			all = append(all, schema.ParseGroupResource(name))
		}
		return all
	}
	all := only(options.PackNames()...)
	every := func(change func(*options.Options)) func(*options.Options) {
		return func(o *options.Options) {
			o.Packs = nil
			change(o)
		}
	}
	same := func(*options.Options) {}
	for name, tc := range map[string]struct {
		values   string
		change   func(*options.Options)
		mutating bool
	}{
		"defaults":        {`{}`, same, false},
		"all packs":       {`{` + all + `}`, every(same), false},
		"a newer cluster": {`{` + all + `}`, every(same), true},
		"usage":           {`{` + only("usage") + `}`, func(o *options.Options) { o.Packs = []string{"usage"} }, true},
		"openstack":       {`{` + only("openstack") + `}`, func(o *options.Options) { o.Packs = []string{"openstack"} }, false},
		"iot and oam":     {`{` + only("iot", "oam") + `}`, func(o *options.Options) { o.Packs = []string{"iot", "oam"} }, true},
		"policy": {
			`{"enforcement": "policy", ` + all + `}`,
			every(func(o *options.Options) { o.Enforcement = pack.ByPolicy }), true,
		},
		"policy on an older cluster": {
			`{"enforcement": "policy", ` + all + `}`,
			every(func(o *options.Options) { o.Enforcement = pack.ByPolicy }), false,
		},
		"namespaces": {
			`{"namespaces": ["b", "a", "a"], ` + all + `}`,
			every(func(o *options.Options) { o.Namespaces = []string{"a", "b"} }), true,
		},
		"the default namespace": {
			`{"namespaces": ["default", "12"], ` + all + `}`,
			every(func(o *options.Options) { o.Namespaces = []string{"12", "default"} }), false,
		},
		"lifted by admin": {`{"packs": {"usage": {"liftedBy": "admin"}}}`, liftedBy(usage.LiftedByAdmin), true},
		"lifted by none":  {`{"packs": {"usage": {"liftedBy": "none"}}}`, liftedBy(usage.LiftedByNone), true},
		"kinds": {
			`{"packs": {"usage": {
				"kinds": ["pods", "clusters.eks.upbound.io"], "usingKinds": ["releases.helm.crossplane.io"]
			}}}`,
			func(o *options.Options) {
				o.Usage.Kinds = resources("pods", "clusters.eks.upbound.io")
				o.Usage.Using = resources("releases.helm.crossplane.io")
			}, true,
		},
		"kinds in namespaces by policy": {
			`{"enforcement": "policy", "namespaces": ["a"], "packs": {"usage": {"kinds": ["configmaps"]}}}`,
			func(o *options.Options) {
				o.Enforcement, o.Namespaces, o.Usage.Kinds = pack.ByPolicy, []string{"a"}, resources("configmaps")
			}, true,
		},
		"oam kinds": {
			`{"packs": {"oam": {"enabled": true, "kinds": ["mydbs.standard.oam.dev", "secrets"]}}}`,
			func(o *options.Options) {
				o.Packs, o.Oam.Kinds = []string{"usage", "oam"}, resources("mydbs.standard.oam.dev", "secrets")
			}, true,
		},
		"pod identity by policy": {
			`{"enforcement": "policy", "packs": {"iot": {"enabled": true, "identity": "pod-identity"}}}`,
			func(o *options.Options) {
				o.Packs = []string{"usage", "iot"}
				o.Enforcement, o.Iot.Identity = pack.ByPolicy, iot.PodIdentity
			}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := options.Options{Enforcement: pack.ByWebhook, Version: "0.0.0-dev", Packs: options.FirstPacks()}
			tc.change(&o)
			var versions []string
			if tc.mutating {
				versions = []string{chart.MutatingPolicies}
			}
			got := render(t, tc.values, versions...)
			for key, u := range got {
				for _, kind := range chartOnly {
					if strings.HasPrefix(key, kind) {
						delete(got, key)
					}
				}
				unstructured.RemoveNestedField(u.Object, "metadata", "annotations", "helm.sh/resource-policy")
				withoutEmptyAnnotations(u)
			}
			if diff := cmp.Diff(installed(t, o, tc.mutating), got); diff != "" {
				t.Errorf("the chart differs from --install (-install +chart):\n%.4000s", diff)
			}
		})
	}
}

func liftedBy(by usage.LiftedBy) func(*options.Options) {
	return func(o *options.Options) { o.Usage.LiftedBy = by }
}

func withoutEmptyAnnotations(u *unstructured.Unstructured) {
	if len(u.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "annotations")
	}
}

// installed returns the objects that --install applies, in the form in which YAML is read.
func installed(t *testing.T, o options.Options, mutating bool) map[string]*unstructured.Unstructured {
	t.Helper()
	scheme, err := options.NewScheme(options.Options{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := install.Objects(o, mutating)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*unstructured.Unstructured{}
	for _, obj := range objects {
		manifest, err := pack.Manifest(scheme, obj)
		if err != nil {
			t.Fatal(err)
		}
		if manifest.GetKind() == "Namespace" {
			continue // Helm creates the namespace of a release.
		}
		text, err := json.Marshal(manifest.Object)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := json.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		all[keyOf(u)] = u
	}
	return all
}

// TestValuesRefused: wrong values are refused with a text that says which.
func TestValuesRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"replicas": "two"}`:                                                              "/replicas",
		`{"replica": 2}`:                                                                   "replica",
		`{"extraVolumeMounts": [{"name": "files"}]}`:                                       "/extraVolumeMounts/0",
		`{"packs": {"usages": {"enabled": true}}}`:                                         "usages",
		`{"packs": {"usage": {"kinds": ["*"]}}}`:                                           "/packs/usage/kinds/0",
		`{"packs": {"usage": {"liftedBy": "view"}}}`:                                       "/packs/usage/liftedBy",
		`{"packs": {"usage": {"guardsWhenOff": "yes"}}}`:                                   "/packs/usage/guardsWhenOff",
		`{"enforcement": "none"}`:                                                          "/enforcement",
		`{"namespaces": ["A"]}`:                                                            "/namespaces/0",
		`{"namespaces": ["kinship-system"]}`:                                               "leave it out",
		`{"image": {"digest": "sha256:1"}}`:                                                "/image/digest",
		`{` + only() + `}`:                                                                 "all packs are off",
		`{"packs": {"usage": {"usingKinds": ["a.b"]}}}`:                                    "needs packs.usage.kinds",
		`{"metrics": {"certManager": {"enabled": true}}}`:                                  "metrics.certificateSecret",
		`{"admission": {"from": ["everywhere"]}}`:                                          "/admission/from/0",
		`{"packs": {"oam": {"kinds": ["a.b"]}}}`:                                           "packs.oam.enabled to true",
		`{"packs": {"openstack": {"hosts": ["a.b"]}}}`:                                     "packs.openstack.enabled to true",
		`{"packs": {"azure": {"credential": "default"}}}`:                                  "packs.azure.enabled to true",
		`{"packs": {"oam": {"enabled": "yes"}}}`:                                           "/packs/oam/enabled",
		`{"packs": {"oam": {"kinds": ["pods/exec"]}}}`:                                     "/packs/oam/kinds/0",
		`{"packs": {"oam": {"kinds": ["roles.rbac.authorization.k8s.io"]}}}`:               "can't act on roles.rbac.authorization.k8s.io",
		`{"packs": {"oam": {"kinds": ["routetables.microsoft.network.infra.azure.com"]}}}`: "is a kind of another pack",
	} {
		_, err := load(t).Render(t.Context(), values(t, text), chart.Cluster{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("values %s: error %v, want one that says %q", text, err, want)
		}
	}
	_, err := load(t).Render(t.Context(), nil, chart.Cluster{Namespace: "default"})
	if err == nil || !strings.Contains(err.Error(), "--namespace kinship-system") {
		t.Errorf("another namespace: error %v", err)
	}
}

// TestPoliciesAreKept: Helm keeps the policies that believe no forged status while no operator runs their pack, in all
// settings. Helm keeps no guard that depends on a value, because the guard would stay after a change of the value.
func TestPoliciesAreKept(t *testing.T) {
	kept := []string{
		"kinship-openstack-status", "kinship-openstack-intents", "kinship-openstack-secrets", "kinship-azure-status",
		"kinship-azure-intents", "kinship-oam-statuses", "kinship-usage-keep-secrets",
	}
	all := map[string]map[string]*unstructured.Unstructured{}
	packs := only(options.PackNames()...)
	for _, text := range []string{
		`{` + packs + `}`, `{"enforcement": "policy", ` + packs + `}`, `{"namespaces": ["a"], ` + packs + `}`,
	} {
		all[text] = render(t, text)
		for _, name := range kept {
			for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
				u := all[text][kind+" /"+name]
				if u == nil || u.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
					t.Errorf("values %s: Helm does not keep %s %s", text, kind, name)
				}
			}
		}
	}
	for text, objects := range all {
		for key, u := range objects {
			if u.GetAnnotations()["helm.sh/resource-policy"] == "" {
				continue
			}
			for other := range all {
				if all[other][key] == nil {
					t.Errorf("%s is kept with the values %s, and is not there with %s", key, text, other)
				}
			}
		}
	}
	for key, u := range render(t, `{"crds": {"keep": false}}`) {
		if u.GetAnnotations()["helm.sh/resource-policy"] != "" {
			t.Errorf("%s is kept although crds.keep is false", key)
		}
	}
}

// TestDefinitionsAreKept: Helm deletes no definition, unless the user says so.
func TestDefinitionsAreKept(t *testing.T) {
	packs := only(options.PackNames()...)
	for text, want := range map[string]string{`{` + packs + `}`: "keep", `{"crds": {"keep": false}, ` + packs + `}`: ""} {
		count := 0
		for key, u := range render(t, text) {
			if !strings.HasPrefix(key, "CustomResourceDefinition ") {
				continue
			}
			count++
			if got := u.GetAnnotations()["helm.sh/resource-policy"]; got != want {
				t.Errorf("values %s: %s has the policy %q, want %q", text, key, got, want)
			}
		}
		if count < 30 {
			t.Errorf("values %s: %d definitions", text, count)
		}
	}
	for key := range render(t, `{"crds": {"enabled": false}}`) {
		if strings.HasPrefix(key, "CustomResourceDefinition ") {
			t.Errorf("%s is rendered although crds.enabled is false", key)
		}
	}
}
