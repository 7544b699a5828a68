package azure_test

import (
	"testing"

	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestCalm watches an object of each kind from its creation, through changes of its spec, to its end. While nothing is
// wrong, Ready is False at most once for each change, until Azure has carried out the change.
func TestCalm(t *testing.T) {
	w := newWorld(t)
	const (
		tags, none = `{"spec":{"tags":{"a":"b"}}}`, `{"spec":{"tags":null}}`
		others     = `{"spec":{"tags":{"a":"c","d":"e"}}}`
	)
	w.apply(group("rg"), vnet("nets", "rg"), manifest("table", "ways", "rg", "location: westeurope"),
		manifest("nsg", "rules", "rg", "location: westeurope"))
	w.ready("rg/rg", "vnet/nets", "table/ways", "nsg/rules")
	const rule = "Microsoft.Network/networkSecurityGroups/securityRules"
	for _, c := range []struct {
		kind, owner, fields string
		patches             []string
	}{
		{"rg", "", "location: westeurope", []string{tags, others, none}},
		{"vnet", "rg", "location: westeurope, addressSpace: {addressPrefixes: [10.0.0.0/16]}", []string{
			tags, others, none, `{"spec":{"addressSpace":{"addressPrefixes":["10.0.0.0/16","10.1.0.0/16"]}}}`,
			`{"spec":{"dhcpOptions":{"dnsServers":["10.0.0.4"]}}}`, `{"spec":{"dhcpOptions":null}}`,
		}},
		{"subnet", "nets", "addressPrefix: 10.0.1.0/24", []string{
			`{"spec":{"addressPrefix":"10.0.2.0/24"}}`, `{"spec":{"serviceEndpoints":[{"service":"Microsoft.Storage"}]}}`,
		}},
		{"table", "rg", "location: westeurope", []string{
			tags, others, none, `{"spec":{"disableBgpRoutePropagation":true}}`, `{"spec":{"disableBgpRoutePropagation":false}}`,
		}},
		{"route", "ways", "addressPrefix: 10.2.0.0/24, nextHopType: None", []string{
			`{"spec":{"addressPrefix":"10.3.0.0/24"}}`, `{"spec":{"nextHopType":"Internet"}}`,
		}},
		{"nsg", "rg", "location: westeurope", []string{tags, others, none}},
		{rule, "rules", "priority: 100, access: Allow, direction: Inbound, protocol: Tcp, sourcePortRange: '*', " +
			"destinationPortRange: '22', sourceAddressPrefix: '*', destinationAddressPrefix: '*'", []string{
			`{"spec":{"priority":200}}`, `{"spec":{"access":"Deny"}}`, `{"spec":{"description":"closed"}}`,
			`{"spec":{"description":null}}`,
		}},
		{"ip", "rg", "location: westeurope", []string{tags, `{"spec":{"idleTimeoutInMinutes":10}}`}},
		{"Microsoft.Compute/availabilitySets", "rg", "location: westeurope", []string{tags, others, none}},
	} {
		k := kindOf(c.kind)
		t.Run(k.Kind, func(t *testing.T) {
			w := *w
			w.T = t
			one := c.kind + ":calm"
			watched := testenv.WatchVersions(t, w.C, k.GroupVersionKind(), w.NS, "calm")
			w.apply(manifest(c.kind, "calm", c.owner, c.fields))
			w.ready(one)
			for _, patch := range c.patches {
				w.edit(one, patch)
				w.ready(one)
			}
			w.delete(one)
			versions := watched.UntilDeleted()
			for _, text := range testenv.RelapsesOfGeneration(versions, "Ready") {
				t.Error(text)
			}
			for generation, n := range testenv.Writes(versions) {
				if first := versions[0].GetGeneration(); generation > first && n > 3 {
					t.Errorf("%d versions of generation %d", n, generation)
				}
			}
		})
	}
}
