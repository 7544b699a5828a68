package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// asked is a resource whose fields are read from the cloud itself: some fields of the spec are
// not in the status, or are reported in another form. In texts, <Kind/name> means the resource
// ID of that object.
type asked struct {
	kind, what string
	needs      []string
	resource   string
	// in is the collection in the cloud, and one the JSON key of its answer, if any.
	in, one string
	// has are the expected fields of the answer, and shows the expected fields of the status.
	has, shows map[string]any
	// edits change the resource, each with the expected fields of the answer afterwards.
	edits []edited
	// held are the objects that are kept while the resource exists, with their finalizers.
	held map[[2]string]string
}

type edited struct {
	patch string
	has   map[string]any
}

// list and attrs keep the tables short.
type (
	list  = []any
	attrs = map[string]any
)

// inside is a network with a subnet.
var inside = []string{
	managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"),
}

var askedFor = []asked{
	{ // The resource has more addresses than the spec, which is no reason for a change.
		kind: "Port", what: "where a router announces a prefix", in: "network/ports", one: "port",
		needs: append([]string{
			managed("Router", "router", "{}"),
			managed("Subnet", "six", `{networkRef: net, routerRef: router, ipVersion: 6, cidr: "fd00:8::/64",
  ipv6: {addressMode: slaac, raMode: slaac}}`),
		}, inside...),
		resource: `{networkRef: net, macAddress: "fa:16:3e:00:08:01", addresses: [{subnetRef: sub, ip: 10.0.0.77}]}`,
		has: attrs{"fixed_ips": list{
			attrs{"subnet_id": "<Subnet/sub>", "ip_address": "10.0.0.77"},
			attrs{"subnet_id": "<Subnet/six>", "ip_address": "fd00:8::f816:3eff:fe00:801"},
		}},
		shows: attrs{"fixedIPs": list{
			attrs{"subnetID": "<Subnet/sub>", "ip": "10.0.0.77"},
			attrs{"subnetID": "<Subnet/six>", "ip": "fd00:8::f816:3eff:fe00:801"},
		}},
		edits: []edited{{`{"description":"new"}`, attrs{
			"description": "new",
			"fixed_ips": list{
				attrs{"subnet_id": "<Subnet/sub>", "ip_address": "10.0.0.77"},
				attrs{"subnet_id": "<Subnet/six>", "ip_address": "fd00:8::f816:3eff:fe00:801"},
			},
		}}},
	},
	{
		kind: "Subnet", what: "whose gateway is taken away", in: "network/subnets", one: "subnet",
		needs:    []string{managed("Network", "net", "{}")},
		resource: `{networkRef: net, ipVersion: 6, cidr: "fd00:1::/64", gateway: {type: IP, ip: "fd00:1::1"}}`,
		has:      attrs{"gateway_ip": "fd00:1::1"}, shows: attrs{"gatewayIP": "fd00:1::1"},
		edits: []edited{{`{"gateway":{"type":"None","ip":null}}`, attrs{"gateway_ip": nil}}},
	},
	{
		kind: "Trunk", what: "subports", in: "network/trunks", one: "trunk",
		needs: []string{
			managed("Network", "net", "{}"), managed("Port", "port", "{networkRef: net}"),
			managed("Port", "other", "{networkRef: net}"), managed("Port", "third", "{networkRef: net}"),
		},
		resource: "{portRef: port, subports: [{portRef: other, segmentationID: 7, segmentationType: vlan}]}",
		has: attrs{
			"port_id":   "<Port/port>",
			"sub_ports": list{attrs{"port_id": "<Port/other>", "segmentation_id": 7.0, "segmentation_type": "vlan"}},
		},
		shows: attrs{"subports": list{attrs{"portID": "<Port/other>", "segmentationID": int64(7), "segmentationType": "vlan"}}},
		edits: []edited{{
			`{"subports":[{"portRef":"third","segmentationID":7,"segmentationType":"vlan"}]}`,
			attrs{"sub_ports": list{attrs{"port_id": "<Port/third>", "segmentation_id": 7.0, "segmentation_type": "vlan"}}},
		}},
		held: map[[2]string]string{{"Port", "port"}: "trunk", {"Port", "third"}: "trunk-subport"},
	},
}

// given compares the resource in the cloud with the spec.
func (a *asked) given(w *world) {
	w.t.Helper()
	needs := scenario{needs: a.needs}
	needs.prepare(w)
	w.apply(managed(a.kind, "it", a.resource))
	w.available(a.kind, "it")
	w.cloudHas(a, a.has)
	w.reports(a.kind, "it", w.resolve(a.shows).(attrs))
	for _, e := range a.edits {
		w.edit(a.kind, "it", `{"spec":{"resource":`+e.patch+`}}`)
		w.available(a.kind, "it")
		w.cloudHas(a, e.has)
	}
	for object, by := range a.held {
		w.delete(object[0], object[1])
		w.says(object[0], object[1], fmt.Sprintf(
			"Waiting for %s/it to be deleted: it holds finalizer openstack.k-orc.cloud/%s", a.kind, by))
	}
}

// cloudHas waits until the cloud says that a resource has these fields.
func (w *world) cloudHas(a *asked, expected attrs) {
	w.t.Helper()
	c, address := w.address(a.in, w.id(a.kind, "it"))
	want := w.resolve(expected)
	testenv.Eventually(w.t, func() error {
		var answer map[string]any
		if err := kit.Call(w.t.Context(), c, http.MethodGet, address, nil, &answer); err != nil {
			return err
		}
		var got any = answer
		if a.one != "" {
			got = answer[a.one]
		}
		if diff := cmp.Diff(want, expectedOf(got, want)); diff != "" {
			return fmt.Errorf("%s/it in the cloud (-want +got):\n%s", a.kind, diff)
		}
		return nil
	})
}

// expectedOf returns the expected fields of an answer: OpenStack returns more.
func expectedOf(got, want any) any {
	switch want := want.(type) {
	case attrs:
		object, ok := got.(attrs)
		if !ok {
			return got
		}
		some := attrs{}
		for key := range want {
			some[key] = expectedOf(object[key], want[key])
		}
		return some
	case list:
		all, ok := got.(list)
		if !ok || len(all) != len(want) {
			return got
		}
		some := list{}
		for i := range want {
			some = append(some, expectedOf(all[i], want[i]))
		}
		return some
	default:
		if number, ok := got.(json.Number); ok {
			got, _ = number.Float64()
		}
		return got
	}
}

var placeholder = regexp.MustCompile(`^<(\w+)/([\w-]+)>$`)

// resolve replaces <Kind/name> by IDs.
func (w *world) resolve(value any) any {
	w.t.Helper()
	switch value := value.(type) {
	case attrs:
		all := attrs{}
		for key := range value {
			all[key] = w.resolve(value[key])
		}
		return all
	case list:
		all := list{}
		for _, item := range value {
			all = append(all, w.resolve(item))
		}
		return all
	case string:
		if part := placeholder.FindStringSubmatch(value); part != nil {
			return w.id(part[1], part[2])
		}
	}
	return value
}
