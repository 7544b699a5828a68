package frontdoor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestUninstallAsks uninstalls by the command, without a terminal. The command prints the plan and removes nothing
// without --yes.
func TestUninstallAsks(t *testing.T) {
	o := optionsFor(t, "usage")
	o.WebhookPort = testenv.FreePort(t)
	if err := install.Install(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := kinship(t, "uninstall")
	for _, want := range []string{
		"would delete ValidatingWebhookConfiguration crossplane-no-usages",
		"would delete CustomResourceDefinition usages.protection.crossplane.io",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan does not say %q:\n%s", want, out)
		}
	}
	if code != 1 || !strings.Contains(errOut, "nothing was removed: there is no terminal to ask on: --yes") {
		t.Errorf("code %d, %s, want a refusal that names --yes", code, errOut)
	}
	if left := besides(t, examine(t, unexamined(t), noTime)); slices.ContainsFunc(left, func(f string) bool {
		return !strings.HasPrefix(f, "CABundleWrong ")
	}) {
		t.Errorf("the command has removed something: %q", left)
	}
	if code, out, errOut := kinship(t, "uninstall", "--yes"); code != 0 || strings.Contains(out, "would") {
		t.Errorf("with --yes: code %d, %s\n%s", code, errOut, out)
	}
	if found := examine(t, unexamined(t), noTime); !slices.Contains(found, "NotInstalled Namespace/kinship-system") {
		t.Errorf("something is left: %q", found)
	}
}
