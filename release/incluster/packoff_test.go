package incluster_test

import (
	"encoding/json"
	"testing"

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
	const off = `{"packs": {"usage": {"enabled": false}}}`
	renders(off, false)
	renders(`{"packs": {"usage": {"enabled": false, "guardsWhenOff": "always"}}}`, true)
	for _, usage := range []string{
		"{apiVersion: protection.crossplane.io/v1beta1, kind: Usage, ",
		"{apiVersion: protection.crossplane.io/v1beta1, kind: ClusterUsage, ",
		"{apiVersion: apiextensions.crossplane.io/v1alpha1, kind: Usage, ",
	} {
		objects := testenv.Apply(t, usage+`metadata: {name: kept}, spec: {reason: kept,
			of: {apiVersion: v1, kind: Namespace, resourceRef: {name: default}}}}`, testenv.In(testenv.Namespace(t)))
		renders(off, true)
		renders(`{"packs": {"usage": {"enabled": false, "guardsWhenOff": "never"}}}`, false)
		if err := operator.Client(t).Delete(t.Context(), objects[0]); err != nil {
			t.Fatal(err)
		}
	}
	renders(off, false)
	removeAll(t, text)
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
