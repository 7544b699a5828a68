package incluster_test

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/release/chart"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestPackOff switches the pack usage off by a value. While a Usage exists, the webhooks and policies of the pack are
// part of the release, so that Helm does not end protection. The rights of the pack are not part of it.
func TestPackOff(t *testing.T) {
	namespace(t)
	text := manifests(t, map[string]any{"enforcement": "policy"}) // No webhook refuses the Usage.
	testenv.Apply(t, text)
	renders := func(values string, want bool) {
		t.Helper()
		all := rendered(t, values)
		for _, key := range []string{
			"ValidatingWebhookConfiguration crossplane-no-usages", "ValidatingWebhookConfiguration kinship-usage",
			"MutatingWebhookConfiguration kinship-usage", "ValidatingAdmissionPolicy kinship-usage-keep-lock",
		} {
			if all[key] != want {
				t.Errorf("values %s: %s is rendered: %t, want %t", values, key, all[key], want)
			}
		}
		if all["ClusterRole kinship-usage"] || all["ServiceAccount kinship-usage"] {
			t.Errorf("values %s: a pack that is off has rights", values)
		}
	}
	const off = `{"packs": {"usage": {"enabled": false}, "iot": {"enabled": true}}}`
	renders(off, false)
	renders(`{"packs": {"usage": {"enabled": false, "guardsWhenOff": "always"}, "iot": {"enabled": true}}}`, true)
	for _, usage := range []string{
		"{apiVersion: protection.crossplane.io/v1beta1, kind: Usage, ",
		"{apiVersion: protection.crossplane.io/v1beta1, kind: ClusterUsage, ",
		"{apiVersion: apiextensions.crossplane.io/v1alpha1, kind: Usage, ",
	} {
		objects := testenv.Apply(t, usage+`metadata: {name: kept}, spec: {reason: kept,
			of: {apiVersion: v1, kind: Namespace, resourceRef: {name: default}}}}`, testenv.In(testenv.Namespace(t)))
		renders(off, true)
		renders(`{"packs": {"usage": {"enabled": false, "guardsWhenOff": "never"}, "iot": {"enabled": true}}}`, false)
		if err := operator.Client(t).Delete(t.Context(), objects[0]); err != nil {
			t.Fatal(err)
		}
	}
	renders(off, false)
	removeAll(t, text)
}

// TestPacksAreKeptByUpgrade upgrades an installation without values: the upgrade has the packs of the installation. A
// first installation has the pack usage alone, and so has an installation whose other packs were left out.
func TestPacksAreKeptByUpgrade(t *testing.T) {
	namespace(t)
	has := func(reason string, want ...string) {
		t.Helper()
		all := rendered(t, `{}`)
		var got []string
		for _, name := range options.PackNames() {
			if all["ServiceAccount "+options.AccountOf(name)] {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: packs %v, want %v", reason, got, want)
		}
	}
	has("a first installation", "usage")
	text := manifests(t, map[string]any{"packs": map[string]any{
		"oam": map[string]any{"enabled": true}, "openstack": map[string]any{"enabled": true},
	}})
	testenv.Apply(t, text)
	has("an upgrade", "usage", "openstack", "oam")
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = options.Namespace, options.AccountOf("oam")
	leftOut := []byte(`{"metadata": {"annotations": {"kinship.dev/left-out": "true"}}}`)
	err := operator.Client(t).Patch(t.Context(), account, client.RawPatch(types.MergePatchType, leftOut))
	if err != nil {
		t.Fatal(err)
	}
	has("an upgrade without a pack that was left out", "usage", "openstack")
	testenv.Apply(t, text)
	has("an upgrade after the pack was installed again", "usage", "openstack", "oam")
	removeAll(t, text)
	has("a new installation", "usage")
}

// rendered returns the kinds and names of the objects that `helm upgrade` with some values would apply.
func rendered(t *testing.T, text string) map[string]bool {
	t.Helper()
	c, err := chart.Load("../../charts/kinship")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := json.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	objects, err := c.Objects(t.Context(), values, chart.Cluster{Config: testenv.Config(t)})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, u := range objects {
		all[u.GetKind()+" "+u.GetName()] = true
	}
	return all
}
