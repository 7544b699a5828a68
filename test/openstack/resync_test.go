package openstack_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// besides are objects that do not conflict with the full object of their kind, where the
// scenario's minimal object would.
var besides = map[string]string{
	"Trunk": "{portRef: third}", "RoleAssignment": groupOnDomain.minimal,
}

// listable are full objects that a list contains: without a domain, Keystone lists no roles of
// a domain.
var listable = map[string]string{"Role": "{name: other, description: text}"}

var resyncTests = map[string]func(*testing.T){
	"status of what a list tells":                 testListed,
	"Server of a group keeps its status":          testServerListed,
	"Server that is imported tells all of itself": testServerFound,
	"Server that fails beside others tells why":   testFaultListed,
	"status of what OpenStack says nothing of":    testZeroes,
}

// pair has two objects of a kind in a world of their own: "it", which has all fields, and
// "beside".
type pair struct {
	*world

	kind       string
	it, beside string
	// before is the status of "it" after a GET of its resource.
	before map[string]any
	// at is the time of the last comparison of "it" that syncAll waited for.
	at      time.Time
	changes watch.Interface
}

// pairs returns a pair of each kind but Server, and applies their references.
func pairs(t *testing.T) []*pair {
	t.Helper()
	var all []*pair
	kinds := slices.Concat(scenarios, more, identities, sizes, images, volumes)
	for _, s := range append(kinds, credential, *userOnProject) {
		w := newWorld(t)
		w.apply(s.needs...)
		p := &pair{world: w, kind: s.kind}
		p.it = resynced(s.kind, "it", cmp.Or(listable[s.kind], s.full))
		p.beside = resynced(s.kind, "beside", cmp.Or(besides[s.kind], s.minimal))
		if s.kind == "Trunk" {
			w.apply(managed("Port", "third", "{networkRef: net}"))
		}
		all = append(all, p)
	}
	w := newWorld(t)
	w.apply(connected...)
	w.apply(managed("Subnet", "second", "{networkRef: net, ipVersion: 4, cidr: 10.1.0.0/24}"))
	other := strings.NewReplacer("{name: it}", "{name: beside}", "subnetRef: sub", "subnetRef: second")
	one := between(", resyncPeriod: 1h")
	return append(all, &pair{world: w, kind: "RouterInterface", it: one, beside: other.Replace(one)})
}

// resynced is the manifest of an object whose status has the time of the last comparison.
func resynced(kind, name, resource string) string {
	return manifest(kind, name, "resyncPeriod: 1h, resource: "+resource)
}

// testListed reads each two objects of a kind by one list: the status of the first object stays
// as it was after a GET.
func testListed(t *testing.T) {
	all := pairs(t)
	for _, p := range all {
		p.apply(p.it)
	}
	for _, p := range all {
		p.available(p.kind, "it")
	}
	syncAll(t, all, "it")
	for _, p := range all {
		p.before = reported(p.get(p.kind, "it"))
		p.apply(p.beside)
	}
	for _, p := range all {
		p.available(p.kind, "beside")
		p.changes = p.watch(p.kind)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			p.cloud.AddFault(emulator.Fault{Method: method, Single: true, Status: http.StatusInternalServerError, Times: -1})
		}
	}
	syncAll(t, all, "it", "beside")
	for _, p := range all {
		p.keeps()
	}
}

// keeps compares each status of "it" until its first read by a list.
func (p *pair) keeps() {
	p.t.Helper()
	defer p.changes.Stop()
	for event := range p.changes.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || u.GetName() != "it" {
			continue
		}
		if diff := gocmp.Diff(p.before, reported(u)); diff != "" {
			p.t.Errorf("%s, read by a list (-before +now):\n%s", p.kind, diff)
			return
		}
		if !syncTime(u).Before(p.at) {
			return
		}
	}
	p.t.Errorf("%s: the watch has ended", p.kind)
}

// watch is told of each change of objects of a kind.
func (w *world) watch(kind string) watch.Interface {
	w.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(openstackv1alpha1.GroupVersion.WithKind(kind + "List"))
	changes, err := w.c.Watch(w.t.Context(), list, client.InNamespace(w.ns))
	if err != nil {
		w.t.Fatal(err)
	}
	return changes
}

// syncAll has objects of all pairs be compared at once, again and again until each was compared after the
// call of syncAll. It does so for all pairs together: one by one would take a second each.
func syncAll(t *testing.T, all []*pair, names ...string) {
	t.Helper()
	after := time.Now().Add(time.Second) // The time of a comparison is in whole seconds.
	edits, next := 1, time.Time{}
	testenv.Eventually(t, func() error {
		late := map[*pair]error{}
		for _, p := range all {
			if err := p.lacks(after, names...); err != nil {
				late[p] = err
			}
		}
		if len(late) == 0 {
			return nil
		}
		if time.Now().After(next) {
			edits, next = edits+1, time.Now().Add(300*time.Millisecond)
			for p := range late {
				for _, name := range names {
					p.edit(p.kind, name, fmt.Sprintf(`{"spec":{"resyncPeriod":"%dh"}}`, edits))
				}
			}
		}
		return errors.Join(slices.Collect(maps.Values(late))...)
	})
}

// lacks returns an error if an object of the pair was not compared after a time.
func (p *pair) lacks(after time.Time, names ...string) error {
	p.t.Helper()
	var late error
	for i, name := range names {
		u := p.get(p.kind, name)
		at := syncTime(u)
		if i == 0 {
			p.at = at
		}
		if at.Before(after) {
			progressing, _ := find(u, "Progressing")
			late = errors.Join(late,
				fmt.Errorf("%s/%s was compared at %s, not after %s: %v", p.kind, name, at, after, progressing))
		}
	}
	return late
}

func syncTime(u *unstructured.Unstructured) time.Time {
	text, _, _ := unstructured.NestedString(u.Object, "status", "lastSyncTime")
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// reported returns the part of a status about the resource, without times.
func reported(u *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	delete(status, "lastSyncTime")
	delete(status, "conditions")
	return status
}

// grouped is a server of a group.
const grouped = "ports: [], schedulerHints: {serverGroupRef: group}"

// testServerListed: a list of servers tells no groups, so that each is read singly.
func testServerListed(t *testing.T) {
	w := newWorld(t)
	w.apply(flavor, boot, bootable("second"), managed("ServerGroup", "group", "{policy: soft-affinity}"))
	w.apply(managed("Server", "it", fromBoot("boot", grouped)), managed("Server", "beside", fromBoot("second", grouped)))
	w.available("Server", "it", "beside")
	before := reported(w.get("Server", "it"))
	group, _, _ := unstructured.NestedSlice(before, "resource", "serverGroups")
	if !gocmp.Equal(group, []any{w.id("ServerGroup", "group")}) {
		t.Errorf("groups %v", group)
	}
	changes := w.watch("Server")
	defer changes.Stop()
	w.cloud.ResetCalls()
	var generation int64
	for i := range 5 { // Both at once.
		for _, name := range []string{"beside", "it"} {
			w.edit("Server", name, fmt.Sprintf(`{"spec":{"resyncPeriod":"%dh"}}`, i+1))
		}
		w.available("Server", "beside", "it")
		generation = w.get("Server", "it").GetGeneration()
	}
	if n := w.cloud.Calls()[emulator.Call{Service: "compute", Method: http.MethodGet, Resource: "servers/detail"}]; n > 0 {
		t.Errorf("%d lists that tell too little", n)
	}
	for event := range changes.ResultChan() {
		u, ok := event.Object.(*unstructured.Unstructured)
		if !ok || u.GetName() != "it" {
			continue
		}
		if diff := gocmp.Diff(before, reported(u)); diff != "" {
			t.Fatalf("Server/it (-before +now):\n%s", diff)
		}
		if _, observed := find(u, "Progressing"); observed == generation {
			return
		}
	}
}

// testServerFound: a filter finds the server in a list, which has no server groups.
func testServerFound(t *testing.T) {
	w := newWorld(t)
	w.apply(flavor, boot, managed("ServerGroup", "group", "{policy: affinity}"), managed("Server", "it", fromBoot("boot", grouped)))
	w.available("Server", "it")
	w.apply(imported("Server", "import", fmt.Sprintf(byName, "it")))
	w.available("Server", "import")
	w.reports("Server", "import", map[string]any{"serverGroups": []any{w.id("ServerGroup", "group")}})
}

// testFaultListed: while others are built, a list tells that a server has failed, and not why.
func testFaultListed(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Service: "compute", Method: http.MethodPost, Resource: "servers", Together: 4})
	specs := `{ram: 64, vcpus: 1, disk: 1, extraSpecs: [{name: "resources:CUSTOM_DREAM", value: "1"}]}`
	all := []string{cirros, managed("Flavor", "flavor", specs)}
	var names []string
	for i := range 4 {
		name := fmt.Sprintf("server%d", i)
		names = append(names, name)
		all = append(all, bootable(name), managed("Server", name, fromBoot(name, "ports: []")))
	}
	w.apply(all...)
	for _, name := range names {
		w.has("Server", name, "Progressing", want{"False", "UnrecoverableError", "No valid host was found. "})
	}
}

// testZeroes: fields that OpenStack does not return are shown as by the published operator: as
// "", 0 or false, or not at all. TestZeroes of the pack has all fields.
func testZeroes(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Role", "role", "{}"), net, sub, managed("Network", "outside", "{external: true}"),
		managed("Subnet", "public", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24, gateway: {type: None}}"),
		managed("FloatingIP", "address", "{floatingNetworkRef: outside}"), flavor)
	for _, row := range []struct {
		kind, name, shown string
	}{
		{"Role", "role", `{"name":"role","domainID":""}`},
		{"Subnet", "public", `{"gatewayIP":"","dnsPublishFixedIP":false,"ipv6AddressMode":null}`},
		{"FloatingIP", "address", `{"portID":"","routerID":"","fixedIP":"","description":null}`},
		{"Flavor", "flavor", `{"swap":null,"ephemeral":null,"isPublic":true}`},
	} {
		w.available(row.kind, row.name)
		expected := map[string]any{}
		if err := json.Unmarshal([]byte(row.shown), &expected); err != nil {
			t.Fatal(err)
		}
		w.reports(row.kind, row.name, expected)
	}
}
