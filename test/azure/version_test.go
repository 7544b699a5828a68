package azure_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/api/azure/catalogue"
	"github.com/kinship-dev/kinship/internal/install"
	packazure "github.com/kinship-dev/kinship/internal/pack/azure"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const policies = "Microsoft.Network/firewallPolicies"

// enableMatching is enable for a pattern, which may have a version, and returns the error.
func (w *world) enableMatching(pattern string) error {
	w.T.Helper()
	kinds, err := all().Match(pattern)
	if err != nil || len(kinds) != 1 {
		w.T.Fatalf("%s is of %d kinds: %v", pattern, len(kinds), err)
	}
	return packazure.Enable(w.T.Context(), w.C, all(), kinds, install.AzureGrant())
}

// TestSecondVersion: a kind with objects is enabled in another version if the objects mean the same there; otherwise
// the error names each object and what it would lose. The running operator serves all objects in its version,
// and loses no field of the other one. The next operator serves them in the newer version.
func TestSecondVersion(t *testing.T) {
	w := newCloud(t, atOnce)
	first := operator.Start(t, w.options)
	t.Cleanup(w.tidyUp)
	w.enable(policies)
	old, newer := kindOf(policies), all().Versions(policies)[1]
	inVersion := func(k *catalogue.Kind, name, fields string) string {
		text := manifest(policies, name, "rg", "location: westeurope"+fields)
		return strings.Replace(text, "/"+old.Version, "/"+k.Version, 1)
	}
	w.apply(group("rg"), inVersion(old, "plain", ", threatIntelMode: Alert"),
		inVersion(old, "special", ", intrusionSystemMode: Enabled"))
	w.ready(policies+":plain", policies+":special")

	err := w.enableMatching(policies + "@" + newer.APIVersion)
	for _, want := range []string{
		"nothing was enabled", "1 objects would lose something", "FirewallPolicy " + w.NS + "/special: ",
		"intrusionSystemMode",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("enabled with an object that would lose a field: %v, want %q", err, want)
		}
	}
	w.edit(policies+":special", `{"spec":{"intrusionSystemMode":null}}`)
	w.ready(policies + ":special")
	for _, version := range []*catalogue.Kind{newer, old} { // The old one stays enabled.
		if err := w.enableMatching(policies + "@" + version.APIVersion); err != nil {
			t.Fatal(err)
		}
	}

	w.apply(inVersion(old, "later", ""), inVersion(newer, "newer", ""))
	w.edit(policies+":plain", `{"spec":{"threatIntelMode":"Deny"}}`)
	w.ready(policies+":plain", policies+":later", policies+":newer")
	w.apply(inVersion(newer, "newest", ", threatIntelWhitelist: {fqdns: [example.com]}"))
	// The operator refuses the object, or does not see the field: the API server ends a watch that began
	// before the version was enabled only a while later.
	testenv.Eventually(t, func() error {
		u := w.get(policies, "newest")
		if says := readyOf(u); !strings.HasPrefix(says, "True") && !strings.Contains(says, "the field is unknown") {
			return errors.New(says)
		}
		if _, kept, _ := unstructured.NestedSlice(u.Object, "spec", "threatIntelWhitelist", "fqdns"); !kept {
			t.Fatal("the field of the newer version was dropped")
		}
		return nil
	})
	before := w.calls("PUT", policies)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	operator.Start(t, w.options)
	t.Cleanup(w.tidyUp)
	w.edit(policies+":newest", `{"spec":{"resyncPeriod":"1h"}}`) // Otherwise its next comparison may be minutes away.
	testenv.Eventually(t, func() error {
		kept, _, _ := unstructured.NestedStringSlice(w.get(policies, "newest").Object,
			"status", "resource", "properties", "threatIntelWhitelist", "fqdns")
		if !slices.Equal(kept, []string{"example.com"}) {
			return fmt.Errorf("the field of the newer version is %v", kept)
		}
		return nil
	})
	names := []string{
		policies + ":plain", policies + ":special", policies + ":later", policies + ":newer", policies + ":newest",
	}
	w.ready(names...)
	if n := w.calls("PUT", policies) - before; n != 1 {
		t.Errorf("%d PUTs by the next operator, want 1", n)
	}
	w.noneRefused()
	w.disablePolicies(names)
}

// disablePolicies expects that no version of the kind can be disabled while it has objects.
func (w *world) disablePolicies(names []string) {
	w.T.Helper()
	t, old, newer := w.T, kindOf(policies), all().Versions(policies)[1]

	for _, version := range []*catalogue.Kind{old, newer} {
		err := packazure.Disable(t.Context(), w.C, []*catalogue.Kind{version})
		if err == nil || !strings.Contains(err.Error(), "delete the objects first: FirewallPolicy") {
			t.Fatalf("disable version %s with objects: %v", version.Version, err)
		}
	}
	w.delete(names...)
	w.gone(names...)
	if err := packazure.Disable(t.Context(), w.C, []*catalogue.Kind{old}); err != nil {
		t.Fatal(err)
	}
}
