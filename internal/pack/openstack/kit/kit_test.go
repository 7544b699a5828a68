package kit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"projectID": "project_id", "fixedIPs": "fixed_ips", "dnsDomain": "dns_domain", "enableDHCP": "enable_dhcp",
		"gatewayIP": "gateway_ip", "ipv6RAMode": "ipv6_ra_mode", "ipv6AddressMode": "ipv6_address_mode", "mtu": "mtu",
		"dnsPublishFixedIP": "dns_publish_fixed_ip", "adminStateUp": "admin_state_up", "neutronNetID": "neutron_net_id",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFieldMatches(t *testing.T) {
	long := int32(1400)
	pair := []map[string]string{{"ip_address": "10.0.0.9"}}
	cases := map[string]struct {
		reason  string
		field   Field
		have    any
		differs bool
	}{
		"same number":     {"JSON has one sort of number", Keep("f", &long), 1400.0, false},
		"as it is read":   {"the client keeps a number's text", Keep("f", &long), json.Number("1400"), false},
		"other number":    {"it was changed", Keep("f", &long), 1500.0, true},
		"nothing said":    {"whatever it is", Keep[int32]("f", nil), 1500.0, false},
		"default":         {"the spec says nothing", Default("f", nil, true), true, false},
		"not the default": {"the spec says nothing any more", Default("f", nil, true), false, true},
		"null is empty":   {"some services say null", Default("f", nil, ""), nil, false},
		"null is false":   {"some services say nothing", Default("f", nil, false), nil, false},
		"fixed":           {"it can't be corrected", Fixed("f", &long), 1500.0, false},
		"order":           {"a list has one", List("f", []string{"a", "b"}), []any{"b", "a"}, true},
		"no order":        {"a set has none", Set("f", []string{"a", "b"}), []any{"b", "a"}, false},
		"too many":        {"what is not listed goes", Set("f", []string{"a"}), []any{"b", "a"}, true},
		"twice":           {"each is found once", Set("f", []string{"a", "a"}), []any{"b", "a"}, true},
		"no list":         {"none is empty", Set[string]("f", nil), nil, false},
		"something added": {
			"Neutron adds the hardware address", Set("f", pair),
			[]any{map[string]any{"ip_address": "10.0.0.9", "mac_address": "fa:16:3e:00:00:01"}},
			false,
		},
		"null wanted": {"no gateway", Always("f", nil), "10.0.0.1", true},
		"null there":  {"no gateway", Always("f", nil), nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.field.differs(&Resource{map[string]any{"f": c.have}}); got != c.differs {
				t.Errorf("%s: differs %t, want %t", c.reason, got, c.differs)
			}
		})
	}
}

// TestReport stores whatever OpenStack says, as far as it fits.
func TestReport(t *testing.T) {
	r := &Resource{map[string]any{
		"name": strings.Repeat("x", 5000), "network_id": "net", "mtu": "no number", "tags": []any{"b", "a"},
		"fixed_ips":  []any{map[string]any{"ip_address": "10.0.0.1", "subnet_id": "sub"}},
		"created_at": "2026-11-21T10:00:00Z", "unknown": true, "admin_state_up": 7,
	}}
	var got openstackv1alpha1.PortResourceStatus
	Report(r, &got, map[string]string{"fixedIPs.ip": "ip_address"})
	if len(got.Name) != longestText || got.NetworkID != "net" || got.AdminStateUp != nil || got.CreatedAt == nil {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got.Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
	want := []openstackv1alpha1.FixedIPStatus{{IP: "10.0.0.1", SubnetID: "sub"}}
	if diff := cmp.Diff(want, got.FixedIPs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestFieldDrifted(t *testing.T) {
	r := &Resource{map[string]any{"a": "is", "absent": nil}}
	was, unknown := "was", ""
	cases := map[string]struct {
		reason string
		field  Field
		want   bool
	}{
		"changed":     {"nobody can change it back", Fixed("a", &was), true},
		"corrected":   {"it is changed back instead", Keep("a", &was), false},
		"not given":   {"it may be whatever it is", Fixed[string]("a", nil), false},
		"not told":    {"not all that is sent is shown", Fixed("b", &was), false},
		"opaque":      {"it is told in other words", Fixed("a", &was).Opaque(), false},
		"not known":   {"the reference is not needed any more", Fixed("a", &unknown), false},
		"told absent": {"it was taken away", Fixed("absent", &was), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.field.drifted(r); got != c.want {
				t.Errorf("%s: drifted %t, want %t", c.reason, got, c.want)
			}
		})
	}
}
