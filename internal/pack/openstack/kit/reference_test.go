package kit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"pgregory.net/rapid"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/external"
)

// portReferences are two references of a Port: one in a list, and one that is in the filter as
// well.
var portReferences = Bind[*openstackv1alpha1.Port]([]Reference{
	{Target: "Subnet", Field: "spec.resource.addresses[].subnetRef"},
	{Target: "Network", Field: "spec.resource.networkRef", Body: "network_id", Query: "net"},
	{Target: "Server", Field: "spec.resource.hostID.serverRef", Need: Once},
})

func TestBind(t *testing.T) {
	network := openstackv1alpha1.KubernetesNameRef("found")
	port := &openstackv1alpha1.Port{}
	port.Name, port.Namespace = "port", "ns"
	port.Spec.CloudCredentialsRef.SecretName = "secret"
	port.Spec.Adopt = &openstackv1alpha1.PortImport{Filter: &openstackv1alpha1.PortFilter{NetworkRef: &network}}
	port.Spec.Resource = &openstackv1alpha1.PortResourceSpec{
		NetworkRef: "net", Addresses: []openstackv1alpha1.Address{{SubnetRef: "a"}, {SubnetRef: "b"}},
	}
	var got []string
	for _, r := range portReferences.Relations {
		for _, e := range r.Extract(port, nil) {
			got = append(got, e.Target.Kind+"/"+e.Target.Name+" by "+e.Field+" "+r.Finalizer)
		}
	}
	want := []string{
		"Secret/secret by spec.cloudCredentialsRef.secretName openstack.k-orc.cloud/port",
		"Subnet/a by spec.resource.addresses[].subnetRef openstack.k-orc.cloud/port",
		"Subnet/b by spec.resource.addresses[].subnetRef openstack.k-orc.cloud/port",
		"Network/net by spec.resource.networkRef openstack.k-orc.cloud/port",
		"Network/found by spec.import.filter.networkRef ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("edges (-want +got):\n%s", diff)
	}
	if fields := portReferences.fields(port, external.Refs{}); len(fields) != 1 || fields[0].Name != "network_id" {
		t.Errorf("fields of the body: %+v", fields)
	}
}

func TestBindPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a reference by a field that Port has not was bound")
		}
	}()
	Bind[*openstackv1alpha1.Port]([]Reference{{Target: "Router", Field: "spec.resource.routerRef"}})
}

func TestWithoutSelf(t *testing.T) {
	references := Bind[*openstackv1alpha1.SecurityGroup]([]Reference{
		{Target: "SecurityGroup", Field: "spec.resource.rules[].remoteGroupRef", Need: Completed},
	})
	group := &openstackv1alpha1.SecurityGroup{}
	group.Name = "own"
	group.Spec.Resource = &openstackv1alpha1.SecurityGroupResourceSpec{Rules: []openstackv1alpha1.SecurityGroupRule{
		{RemoteGroupRef: new(openstackv1alpha1.KubernetesNameRef("own"))},
		{RemoteGroupRef: new(openstackv1alpha1.KubernetesNameRef("other"))},
	}}
	edges := references.Relations[1].Extract(group, nil)
	if len(edges) != 1 || edges[0].Target.Name != "other" {
		t.Errorf("a group waits for itself: %v", edges)
	}
}

func TestFilterQuery(t *testing.T) {
	port := &openstackv1alpha1.Port{}
	table := Table[*openstackv1alpha1.Port]{
		References: portReferences, Compared: []string{"description"}, Names: map[string]string{"macAddress": "mac"},
	}
	in := external.Input[*openstackv1alpha1.Port]{Object: port}
	if got := table.FilterQuery(in); len(got) > 0 {
		t.Errorf("query without an import: %v", got)
	}
	filter := &openstackv1alpha1.PortFilter{
		Name: new(openstackv1alpha1.OpenStackName("p")), Description: new(openstackv1alpha1.NeutronDescription("d")),
		AdminStateUp: new(false), MacAddress: new("m"), NetworkRef: new(openstackv1alpha1.KubernetesNameRef("net")),
	}
	filter.TagsAny, filter.NotTags = []openstackv1alpha1.NeutronTag{"a", "b"}, []openstackv1alpha1.NeutronTag{}
	port.Spec.Import = &openstackv1alpha1.PortImport{Filter: filter}
	want := url.Values{"name": {"p"}, "admin_state_up": {"false"}, "mac": {"m"}, "tags-any": {"a,b"}, "net": {""}}
	if diff := cmp.Diff(want, table.FilterQuery(in)); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	for description, want := range map[string]bool{"d": true, "e": false} {
		if got := table.matches(in, &Resource{map[string]any{"description": description}}); got != want {
			t.Errorf("a resource with description %s matches: %t", description, got)
		}
	}
}

// TestFilterComma: a tag with a comma is refused, since OpenStack would read two tags. A comma elsewhere is a part of
// the text, and so is a comma in a list that is not joined.
func TestFilterComma(t *testing.T) {
	for name, c := range map[string]struct {
		filter  openstackv1alpha1.PortFilter
		adapt   func(external.Input[*openstackv1alpha1.Port], url.Values)
		refused bool
	}{
		"in a tag": {filter: openstackv1alpha1.PortFilter{FilterByNeutronTags: openstackv1alpha1.FilterByNeutronTags{
			NotTags: []openstackv1alpha1.NeutronTag{"a", "b,c"},
		}}, refused: true},
		"in a description": {filter: openstackv1alpha1.PortFilter{
			Description: new(openstackv1alpha1.NeutronDescription("a,b")),
		}},
		"in a tag that is sent apart": {filter: openstackv1alpha1.PortFilter{
			FilterByNeutronTags: openstackv1alpha1.FilterByNeutronTags{Tags: []openstackv1alpha1.NeutronTag{"b,c"}},
		}, adapt: func(_ external.Input[*openstackv1alpha1.Port], query url.Values) { query.Del("tags") }},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"ports": []}`)
		}))
		t.Cleanup(server.Close)
		port := &openstackv1alpha1.Port{}
		port.Spec.Import = &openstackv1alpha1.PortImport{Filter: &c.filter}
		a := Actuator[*openstackv1alpha1.Port]{
			Table:  &Table[*openstackv1alpha1.Port]{Path: "ports", Many: "ports", Adapt: c.adapt},
			Client: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/"},
		}
		_, err := a.Find(t.Context(), external.Input[*openstackv1alpha1.Port]{Object: port}, external.Search{Imported: true})
		if external.IsInvalid(err) != c.refused || (err == nil) == c.refused {
			t.Errorf("%s: %v, want a refusal: %t", name, err, c.refused)
		}
	}
}

// TestQuery: a name that a user chose is the value of one query parameter, and adds no other parameter.
func TestQuery(t *testing.T) {
	var got url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.Query()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ports": []}`)
	}))
	t.Cleanup(server.Close)
	a := Actuator[*openstackv1alpha1.Port]{
		Table:  &Table[*openstackv1alpha1.Port]{Path: "ports", Many: "ports", Always: url.Values{"limit": {"1"}}},
		Client: &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/"},
	}
	for _, name := range []string{"a", "a&all_tenants=1", "a#b", "a?b", "100%", "a+b c", "ä;b"} {
		if _, err := a.Query(t.Context(), url.Values{"name": {name}}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(url.Values{"name": {name}, "limit": {"1"}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAddress: each part of a path arrives as one part, with any text, and no part becomes a query or a fragment.
func TestAddress(t *testing.T) {
	text := rapid.OneOf(rapid.SampledFrom([]string{"a/b", "a?b=c", "a#b", "%2F", "a b", "ä;=&+:@,"}), rapid.String())
	client := &gophercloud.ServiceClient{Endpoint: "https://cloud.example/v2/"}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(text, 1, 3).Draw(t, "parts")
		address, err := url.Parse(Address(client, "things", parts...))
		if err != nil || address.RawQuery != "" || address.ForceQuery || address.Fragment != "" {
			t.Fatalf("%s: %v", address, err)
		}
		escaped, _ := strings.CutPrefix(address.EscapedPath(), "/v2/things/")
		var got []string
		for part := range strings.SplitSeq(escaped, "/") {
			plain, err := url.PathUnescape(part)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, plain)
		}
		if diff := cmp.Diff(parts, got); diff != "" {
			t.Errorf("%s has other parts (-want +got):\n%s", address, diff)
		}
	})
}

func TestFilterQueryNested(t *testing.T) {
	mode := openstackv1alpha1.IPv6AddressMode("slaac")
	subnet := &openstackv1alpha1.Subnet{}
	subnet.Spec.Import = &openstackv1alpha1.SubnetImport{Filter: &openstackv1alpha1.SubnetFilter{
		IPv6: &openstackv1alpha1.IPv6Options{AddressMode: &mode},
	}}
	table := Table[*openstackv1alpha1.Subnet]{Names: map[string]string{"ipv6.addressMode": "ipv6_address_mode"}}
	got := table.FilterQuery(external.Input[*openstackv1alpha1.Subnet]{Object: subnet})
	if diff := cmp.Diff(url.Values{"ipv6_address_mode": {"slaac"}}, got); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
}
