package kit

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"projectID": "project_id", "fixedIPs": "fixed_ips", "dnsDomain": "dns_domain", "enableDHCP": "enable_dhcp",
		"gatewayIP": "gateway_ip", "ipv6RAMode": "ipv6_ra_mode", "ipv6AddressMode": "ipv6_address_mode", "mtu": "mtu",
		"dnsPublishFixedIP": "dns_publish_fixed_ip", "adminStateUp": "admin_state_up", "neutronNetID": "neutron_net_id",
	} {
		if got := Snake(name); got != want {
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
		"one for two": {
			"the pair without a hardware address may be any",
			Set("f", []map[string]string{{"ip": "a"}, {"ip": "a", "mac": "m"}}),
			[]any{map[string]any{"ip": "a", "mac": "m"}, map[string]any{"ip": "a", "mac": "p"}},
			false,
		},
		"one moves two": {
			"and one that gave way may need another to",
			Set("f", []map[string]string{{"b": "1"}, {"a": "1"}, {"a": "1", "b": "1"}}),
			[]any{map[string]any{"a": "1", "b": "1"}, map[string]any{"b": "1", "c": "1"}, map[string]any{"a": "1"}},
			false,
		},
		"one too few": {
			"two can't have the same", Set("f", []map[string]string{{"ip": "a"}, {"ip": "a", "mac": "m"}}),
			[]any{map[string]any{"ip": "a", "mac": "m"}, map[string]any{"ip": "b", "mac": "m"}},
			true,
		},
		"a name":           {"two spellings of a name are two names", Keep("f", new("FD00:0::1")), "fd00::1", true},
		"address":          {"Neutron compresses it", Keep("f", new("FD00:0::1")).Addresses(), "fd00::1", false},
		"other address":    {"it was changed", Keep("f", new("fd00::1")).Addresses(), "fd00::2", true},
		"prefix":           {"the network counts", Keep("f", new("10.1.2.3/8")).Addresses(), "10.0.0.0/8", false},
		"other length":     {"it is another prefix", Keep("f", new("10.0.0.0/8")).Addresses(), "10.0.0.0/9", true},
		"hardware address": {"it may be small", Keep("f", new("FA-16-3E-00-00-0A")).Addresses(), "fa:16:3e:00:00:0a", false},
		"no address there": {"there is none", Keep("f", new("10.0.0.1")).Addresses(), nil, true},
		"addresses":        {"each of a list", List("f", []string{"FD00:0::1"}).Addresses(), []any{"fd00::1"}, false},
		"null wanted":      {"no gateway", Always("f", nil), "10.0.0.1", true},
		"null there":       {"no gateway", Always("f", nil), nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.field.differs(&Resource{map[string]any{"f": c.have}}); got != c.differs {
				t.Errorf("%s: differs %t, want %t", c.reason, got, c.differs)
			}
		})
	}
}

// TestReport stores any answer of OpenStack, as far as it fits.
func TestReport(t *testing.T) {
	r := &Resource{map[string]any{
		"name": strings.Repeat("x", 5000), "network_id": "net", "mtu": "no number", "tags": []any{"b", "a"},
		"fixed_ips":  []any{map[string]any{"ip_address": "10.0.0.1", "subnet_id": "sub"}},
		"created_at": "2026-11-21T10:00:00Z", "unknown": true, "admin_state_up": 7,
	}}
	var got openstackv1alpha1.PortResourceStatus
	Report(r, &got, map[string]string{"fixedIPs.ip": "ip_address"})
	if len(got.Name) != LongestText || got.NetworkID != "net" || got.AdminStateUp == nil || *got.AdminStateUp ||
		got.CreatedAt == nil {
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

// TestPairs: pairs of texts are reported in the order of their keys, without the mark. A pair may be
// longer than a spec's.
func TestPairs(t *testing.T) {
	long := strings.Repeat("x", 5000)
	said := map[string]any{"b": long, "a": "1", long: "2", "no text": 3, markerKey: "ours"}
	var got openstackv1alpha1.FlavorResourceStatus
	Report(&Resource{map[string]any{"extra_specs": said}}, &got, nil)
	want := []openstackv1alpha1.FlavorExtraSpecStatus{
		{Name: "a", Value: "1"}, {Name: "b", Value: long[:LongestText]}, {Name: long[:LongestText], Value: "2"},
	}
	if diff := cmp.Diff(want, got.ExtraSpecs); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTextMark: only the text of an object's creation is a mark, and it is never shown.
func TestTextMark(t *testing.T) {
	const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
	table := &Table[*openstackv1alpha1.FloatingIP]{Marked: "description"}
	for _, c := range []struct {
		reason, text, shown string
		marker              types.UID
	}{
		{"a mark", "kinship-uid " + uid, "", uid},
		{"words of a person", "kinship-uid of the office", "kinship-uid of the office", ""},
		{"words after a mark", "kinship-uid " + uid + " ", "kinship-uid " + uid + " ", ""},
		{
			"another spelling than that of the API server",
			"kinship-uid " + strings.ToUpper(uid), "kinship-uid " + strings.ToUpper(uid), "",
		},
		{"nothing", "", "", ""},
	} {
		r := &Resource{map[string]any{"id": "1", "description": c.text}}
		who := table.Identify(r)
		if who.Marker != c.marker || who.Unfinished != (c.marker != "") {
			t.Errorf("%s: %+v", c.reason, who)
		}
		if got := table.withoutMark(r).String("description"); got != c.shown || r.String("description") != c.text {
			t.Errorf("%s: shown as %q; %q itself", c.reason, got, r.String("description"))
		}
	}
	inMetadata := &Table[*openstackv1alpha1.Volume]{Marked: MetadataField}
	r := &Resource{map[string]any{"metadata": map[string]any{"kinship-uid": uid}}}
	if who := inMetadata.Identify(r); who.Marker != uid || who.Unfinished {
		t.Errorf("in metadata, where it stays: %+v", who)
	}
}

// FuzzTextMark: a text is shown completely, and a mark is not shown at all.
func FuzzTextMark(f *testing.F) {
	f.Add("kinship-uid 0f8fad5b-d9cb-469f-a165-70867728950e")
	f.Add("kinship-uid ")
	table := &Table[*openstackv1alpha1.FloatingIP]{Marked: "description"}
	f.Fuzz(func(t *testing.T, text string) {
		r := &Resource{map[string]any{"description": text}}
		marker, shown := table.marker(r), table.withoutMark(r).String("description")
		if (marker == "") != (shown == text) && text != "" {
			t.Errorf("%q has the mark %q and is shown as %q", text, marker, shown)
		}
		if marker != "" && text != textMark+string(marker) {
			t.Errorf("%q has the mark %q", text, marker)
		}
	})
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
