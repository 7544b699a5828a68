package rights

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// TestExemptions: no webhook and no policy of a pack exempts an account but that of the pack. The packs, their objects
// and the accounts are those of the operator, so that a new one is tested too.
func TestExemptions(t *testing.T) {
	exempting := map[string]int{}
	for _, enforcement := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		for _, mutating := range []bool{false, true} {
			o := options.Options{Enforcement: enforcement}
			for _, p := range options.Packs(o) {
				for _, obj := range p.Objects(o.Installation(mutating)) {
					text, err := json.Marshal(obj)
					if err != nil {
						t.Fatal(err)
					}
					for _, user := range options.Operators() {
						switch exempts := strings.Contains(string(text), "'"+user+"'"); {
						case exempts && user != options.OperatorOf(p.Name):
							t.Errorf("%T %s of pack %s exempts %s", obj, obj.GetName(), p.Name, user)
						case exempts:
							exempting[p.Name]++
						}
					}
				}
			}
		}
	}
	for _, name := range options.PackNames() {
		if exempting[name] == 0 {
			t.Errorf("no guard of pack %s exempts its account: is the text of the condition another one?", name)
		}
	}
}

// TestRefusedKinds: the pack oam takes no kinds of other packs, no subresources and no kinds that give rights, neither
// by --oam-kinds nor by `kinship rights`.
func TestRefusedKinds(t *testing.T) {
	for name, want := range map[string]string{
		"resourcegroups.microsoft.resources.infra.azure.com": "pack azure",
		"usages.protection.crossplane.io":                    "pack usage",
		"networks.openstack.k-orc.cloud":                     "pack openstack",
		"iotconnectors.services.azurehealthcareapis.com":     "pack iot",
		"referencegrants.kinship.dev":                        "consent",
		"pods/exec":                                          "subresource", "serviceaccounts/token": "subresource",
		"deployments/scale.apps": "subresource", "roles.rbac.authorization.k8s.io": "give rights",
		"rolebindings.rbac.authorization.k8s.io":                       "give rights",
		"customresourcedefinitions.apiextensions.k8s.io":               "give rights",
		"validatingwebhookconfigurations.admissionregistration.k8s.io": "give rights",
		"apiservices.apiregistration.k8s.io":                           "give rights",
		"certificatesigningrequests.certificates.k8s.io":               "give rights",
		"referencegrants.gateway.networking.k8s.io":                    "give rights", "nodes": "give rights",
		"usages.PROTECTION.crossplane.io": "lower case", "roles.rbac.authorization.k8s.io,pods": "lower case",
		"deployments.apps/scale": "lower case", "Deployments.apps": "lower case",
		"mydbs.standard.oam.dev": "", "configmaps": "", "pods": "", "healthscopes.core.oam.dev": "",
	} {
		kind := schema.ParseGroupResource(name)
		var o options.Options
		o.Oam.Kinds = []schema.GroupResource{kind}
		_, err := KindRole("oam", Kinds{Used: o.Oam.Kinds})
		for way, err := range map[string]error{"--oam-kinds": options.CheckOamKinds(o), "kinship rights": err} {
			if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", way, name, err, want)
			}
		}
	}
}
