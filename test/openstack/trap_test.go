package openstack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

var traps = map[string]func(*testing.T){
	"same name in two namespaces never shares a resource": testSameName,
	"rules added to a group that has some":                testRules,
	"groups that name each other":                         testGroupsOfEachOther,
	"a deletion does not wait for what is not ready":      testDeletedWhileUnready,
	"a deletion waits for credentials that are gone":      testDeletedWithoutCredentials,
	"a reference that is replaced releases its target":    testReplacedReference,
	"rotated credentials are picked up":                   testRotated,
	"immutable fields can't be removed and added":         testImmutable,
	"stripped finalizers come back":                       testStripped,
	"detached":                                            testDetached,
	"deleted without its Secret, before it was made":      testNeverMade,
	"a permanent refusal is not repeated":                 testPermanent,
	"adopted where that is asked for":                     testAdopt,
	"the answer is lost":                                  testLostAnswer,
	"the cloud fails":                                     testCloudFails,
	"the cloud asks for patience":                         testPatience,
	"tokens end":                                          testTokens,
	"deleted at once in any order":                        testWholeNamespace,
}

func testSameName(t *testing.T) {
	w := newWorld(t)
	n := w.neighbour()
	for _, x := range []*world{w, n} {
		x.apply(managed("Router", "same", "{}"))
	}
	w.available("Router", "same")
	n.available("Router", "same")
	if w.id("Router", "same") == n.id("Router", "same") {
		t.Fatal("shared")
	}
	n.delete("Router", "same")
	n.gone("Router", "same")
	if ids := w.inCloud("network/routers", "same"); !slices.Equal(ids, []string{w.id("Router", "same")}) {
		t.Errorf("in the cloud: %v", ids)
	}
}

func rule(port int) string {
	return fmt.Sprintf(`{"ethertype":"IPv4","protocol":"tcp","portRange":{"min":%d,"max":%d}}`, port, port)
}

func testRules(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("SecurityGroup", "group", "{rules: ["+rule(22)+"]}"))
	w.available("SecurityGroup", "group")
	for _, rules := range [][]string{
		{rule(22), rule(80)},
		{rule(80), rule(443)},
		{`{"ethertype":"IPv4","protocol":"icmp"}`, rule(443)},
		{strings.TrimSuffix(rule(443), "}") + `,"description":"other words"}`},
		{`{"ethertype":"IPv4","remoteGroupRef":"group"}`},
	} {
		w.edit("SecurityGroup", "group", `{"spec":{"resource":{"rules":[`+strings.Join(rules, ",")+`]}}}`)
		w.available("SecurityGroup", "group")
		if got := w.cloud.Inventory()["network/security_group_rules"]; len(got) != len(rules) {
			t.Errorf("%d rules, want %v", len(got), rules)
		}
	}
}

// testGroupsOfEachOther: groups whose rules name each other are both created, with their rules;
// while one group is missing, the other is not available.
func testGroupsOfEachOther(t *testing.T) {
	w := newWorld(t)
	naming := func(other string) string { return `{rules: [{ethertype: IPv4, remoteGroupRef: ` + other + `}]}` }
	w.apply(managed("SecurityGroup", "a", naming("b")))
	w.says("SecurityGroup", "a", "Waiting for SecurityGroup/b to be created")
	w.has("SecurityGroup", "a", "Available", want{"False", "Progressing", "Waiting for SecurityGroup/b to be created"})
	if found := w.inCloud("network/security_groups", "a"); len(found) != 1 {
		t.Errorf("the cloud has %v, want one group a", found)
	}
	w.apply(managed("SecurityGroup", "b", naming("a")))
	w.available("SecurityGroup", "a", "b")
	for name, other := range map[string]string{"a": "b", "b": "a"} {
		rules, _, err := unstructured.NestedSlice(w.get("SecurityGroup", name).Object, "status", "resource", "rules")
		if err != nil || len(rules) != 1 {
			t.Fatalf("%s has rules %v, error %v", name, rules, err)
		}
		if got := rules[0].(map[string]any)["remoteGroupID"]; got != w.id("SecurityGroup", other) {
			t.Errorf("the rule of %s names %v, not %s", name, got, other)
		}
	}
	// A deleted group makes the other group wait again.
	w.delete("SecurityGroup", "b")
	w.gone("SecurityGroup", "b")
	w.has("SecurityGroup", "a", "Available", want{"False", "Progressing", "Waiting for SecurityGroup/b to be created"})
}

// testDeletedWhileUnready: an object can be deleted while its references are not ready, and a
// failed deletion is repeated.
func testDeletedWhileUnready(t *testing.T) {
	w := newWorld(t)
	w.apply(manifest("Network", "net", "resyncPeriod: 1s, resource: {}"), managed("Port", "port", "{networkRef: net}"))
	w.available("Port", "port")
	w.cloud.AddFault(emulator.Fault{Method: "GET", Resource: "networks", Times: -1, Status: 503})
	testenv.Eventually(t, func() error {
		if available, _ := find(w.get("Network", "net"), "Available"); available.status != "Unknown" {
			return fmt.Errorf("Available is %v", available)
		}
		return nil
	})
	w.cloud.AddFault(emulator.Fault{Method: "DELETE", Resource: "ports", Status: 503})
	w.delete("Port", "port")
	w.gone("Port", "port")
}

// testDeletedWithoutCredentials: an object that can't be deleted without its Secret has a
// message, and is deleted when the Secret exists again; so is an object with the Secret of
// another object.
func testDeletedWithoutCredentials(t *testing.T) {
	w := newWorld(t)
	w.apply(append(slices.Clone(connected), between(""), managed("Network", "alone", "{}"))...)
	w.available("RouterInterface", "it")
	w.available("Network", "alone")
	w.delete("Secret", "cloud")
	w.edit("Secret", "cloud", `{"metadata":{"finalizers":null}}`) // By force.
	w.gone("Secret", "cloud")
	for _, name := range []string{"Network/alone", "RouterInterface/it", "Router/router", "Subnet/sub"} {
		kind, name, _ := strings.Cut(name, "/")
		w.delete(kind, name)
	}
	w.has("Network", "alone", "Progressing", waitingFor("Secret/cloud to be created"))
	w.create(w.secret("cloud", w.clouds))
	w.gone("Network", "alone")
	w.gone("RouterInterface", "it")
	w.gone("Router", "router")
	w.gone("Subnet", "sub")
}

func testReplacedReference(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"), managed("SecurityGroup", "old", "{}"), managed("SecurityGroup", "new", "{}"),
		managed("Port", "port", "{networkRef: net, securityGroupRefs: [old]}"))
	w.available("Port", "port")
	w.held("SecurityGroup", "old", "securitygroup", "port")
	w.edit("Port", "port", `{"spec":{"resource":{"securityGroupRefs":["new"]}}}`)
	w.available("Port", "port")
	w.held("SecurityGroup", "old", "securitygroup")
	w.held("SecurityGroup", "new", "securitygroup", "port")
	w.delete("SecurityGroup", "old")
	w.gone("SecurityGroup", "old")
	w.edit("Port", "port", `{"spec":{"resource":{"securityGroupRefs":null}}}`)
	w.held("SecurityGroup", "new", "securitygroup")
}

func testRotated(t *testing.T) {
	w := newWorld(t)
	good := w.cloud.CloudsYAML()
	w.setSecret(strings.ReplaceAll(good, "password: secret", "password: wrong"))
	w.apply(managed("Network", "net", "{}"), managed("Network", "odd", "{}"))
	w.fails("Network", "net", "TransientError")
	w.setSecret("clouds: {}")
	w.fails("Network", "net", "InvalidConfiguration")
	w.setSecret(good)
	w.available("Network", "net", "odd")
}

func testImmutable(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "net", "{dnsDomain: example.com.}"), managed("Network", "bare", "{}"))
	for name, patch := range map[string]string{
		"net": `{"spec":{"resource":{"dnsDomain":null}}}`, "bare": `{"spec":{"resource":{"dnsDomain":"example.org."}}}`,
	} {
		u := w.get("Network", name)
		err := w.c.Patch(t.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch)))
		if err == nil || !strings.Contains(err.Error(), "can't be added or removed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	u := w.get("Network", "net")
	err := w.c.Patch(t.Context(), u, client.RawPatch("application/merge-patch+json",
		[]byte(`{"spec":{"resource":{"dnsDomain":"example.org."}}}`)))
	if err == nil || !strings.Contains(err.Error(), "dnsDomain is immutable") {
		t.Errorf("changed: %v", err)
	}
}

func testStripped(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"), managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"))
	w.available("Subnet", "sub")
	for _, kind := range [][2]string{{"Network", "net"}, {"Subnet", "sub"}, {"Secret", "cloud"}} {
		testenv.Eventually(t, func() error {
			u := w.get(kind[0], kind[1])
			u.SetFinalizers(nil)
			return w.c.Update(t.Context(), u)
		})
	}
	w.held("Network", "net", "network", "subnet")
	w.held("Subnet", "sub", "subnet")
	w.held("Secret", "cloud", "network", "subnet")
	// The cloud need not answer, and there is no call before.
	w.cloud.AddFault(emulator.Fault{Times: -1, Status: 503})
	w.replace("Subnet", "sub", `{"networkRef": "net", "ipVersion": 4, "cidr": "10.0.0.0/24", "description": "new"}`)
	w.held("Subnet", "sub", "subnet")
	w.cloud.ClearFaults()
	w.available("Subnet", "sub")
	w.reports("Subnet", "sub", map[string]any{"description": "new"})
	// An object that is being deleted needs its Secret as well.
	w.delete("Network", "net")
	w.has("Network", "net", "Progressing",
		waitingFor("Subnet/sub to be deleted: it holds finalizer openstack.k-orc.cloud/subnet"))
	w.edit("Secret", "cloud", `{"metadata":{"finalizers":null}}`)
	w.held("Secret", "cloud", "network", "subnet")
	w.delete("Secret", "cloud")
	w.delete("Subnet", "sub")
	w.gone("Network", "net")
	w.gone("Secret", "cloud")
}

// replace replaces an object as `kubectl replace` does: fields of other writers are lost.
func (w *world) replace(kind, name, resource string) {
	w.t.Helper()
	var spec map[string]any
	if err := json.Unmarshal([]byte(resource), &spec); err != nil {
		w.t.Fatal(err)
	}
	testenv.Eventually(w.t, func() error {
		u := w.get(kind, name)
		u.SetFinalizers(nil)
		u.SetAnnotations(nil)
		if err := unstructured.SetNestedMap(u.Object, spec, "spec", "resource"); err != nil {
			return err
		}
		return w.c.Update(w.t.Context(), u)
	})
}

func testDetached(t *testing.T) {
	w := newWorld(t)
	w.apply(manifest("Network", "theirs", "managedOptions: {onDelete: detach}, resource: {}"))
	w.available("Network", "theirs")
	w.delete("Network", "theirs")
	w.gone("Network", "theirs")
	if len(w.inCloud("network/networks", "theirs")) != 1 {
		t.Error("it was deleted")
	}
}

func testNeverMade(t *testing.T) {
	w := newWorld(t)
	w.delete("Secret", "cloud")
	w.gone("Secret", "cloud")
	w.apply(managed("Network", "net", "{}"))
	w.has("Network", "net", "Progressing", waitingFor("Secret/cloud to be created"))
	w.delete("Network", "net")
	w.gone("Network", "net")
}

func testPermanent(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: "POST", Status: 403, Times: -1})
	w.apply(managed("Network", "net", "{}"))
	w.fails("Network", "net", "InvalidConfiguration")
	calls := w.calls("network")
	w.settles()
	if now := w.calls("network"); now != calls {
		t.Errorf("%d calls more", now-calls)
	}
	w.cloud.ClearFaults()
	w.edit("Network", "net", `{"spec":{"resource":{"description":"again"}}}`)
	w.available("Network", "net")
}

func testAdopt(t *testing.T) {
	w := newWorld(t)
	w.apply(manifest("Network", "before", "managedOptions: {onDelete: detach}, resource: {name: mine}"))
	w.available("Network", "before")
	id := w.id("Network", "before")
	w.apply(manifest("Network", "twice",
		"managedOptions: {onDelete: detach}, adopt: {id: "+id+"}, resource: {name: mine}"))
	w.fails("Network", "twice", "InvalidConfiguration") // The resource belongs to another object,
	w.settles()
	w.delete("Network", "before")
	w.gone("Network", "before") // until that object releases it.
	w.available("Network", "twice")
	if w.id("Network", "twice") != id {
		t.Error("another one")
	}
	w.delete("Network", "twice")
	w.gone("Network", "twice")
	w.apply(manifest("Network", "after", "adopt: {filter: {name: mine}}, resource: {name: mine, description: adopted}"))
	w.available("Network", "after")
	if w.id("Network", "after") != id {
		t.Error("another one")
	}
	w.reports("Network", "after", map[string]any{"description": "adopted"})
}

func testLostAnswer(t *testing.T) {
	w := newWorld(t)
	n := w.neighbour()
	// One after the other: if two objects lose their answers at once, a user must decide which
	// resource belongs to which object.
	for _, x := range []*world{w, n} {
		w.cloud.AddFault(emulator.Fault{
			Service: "network", Method: "POST", Resource: "networks", Reset: emulator.AfterExecution,
		})
		x.apply(managed("Network", "net", "{}"))
		x.available("Network", "net")
	}
	ids, want := w.inCloud("network/networks", "net"), []string{w.id("Network", "net"), n.id("Network", "net")}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) || want[0] == want[1] {
		t.Errorf("in the cloud %v, recorded %v", ids, want)
	}
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: "DELETE", Reset: emulator.AfterExecution})
	w.delete("Network", "net")
	w.gone("Network", "net")
}

func testCloudFails(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: "POST", Status: 503, Times: 2})
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: "POST", Reset: emulator.BeforeExecution})
	w.apply(managed("Network", "net", "{tags: [t]}"))
	w.available("Network", "net")
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: "DELETE", Status: 500, Times: 2})
	w.delete("Network", "net")
	w.gone("Network", "net")
}

func testPatience(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Service: "network", Method: "POST", Status: 429, RetryAfter: 1})
	before := time.Now()
	w.apply(managed("Network", "net", "{}"))
	w.available("Network", "net")
	if took := time.Since(before); took < time.Second {
		t.Errorf("asked again within %s", took)
	}
}

func testTokens(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "net", "{}"))
	w.available("Network", "net")
	w.cloud.ExpireTokens()
	w.apply(managed("Network", "later", "{}"))
	w.available("Network", "later")
	// In the middle of an object, and of its deletion.
	for method, resource := range map[string]string{"PUT": "networks/tags", "DELETE": "networks"} {
		w.cloud.AddFault(emulator.Fault{Method: method, Resource: resource, Status: 401})
	}
	w.apply(managed("Network", "tagged", "{tags: [t]}"))
	w.available("Network", "tagged")
	w.delete("Network", "tagged")
	w.gone("Network", "tagged")
}

func testWholeNamespace(t *testing.T) {
	w := newWorld(t)
	w.apply(stack...)
	w.available("FloatingIP", "fip")
	w.available("Port", "port")
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	if err := w.c.Delete(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	w.gone("Network", "net", "outside")
	w.gone("Secret", "cloud")
	w.empty()
}

// stack is applied in the wrong order, at once.
var stack = []string{
	managed("FloatingIP", "fip", "{floatingNetworkRef: outside, portRef: port}"),
	managed("Port", "port", "{networkRef: net, addresses: [{subnetRef: sub}], securityGroupRefs: [group]}"),
	managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24, routerRef: router}"),
	managed("Subnet", "sub-out", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"),
	managed("Router", "router", "{externalGateways: [{networkRef: outside}]}"),
	managed("SecurityGroup", "group", "{}"),
	managed("Network", "net", "{}"),
	managed("Network", "outside", "{external: true}"),
}
