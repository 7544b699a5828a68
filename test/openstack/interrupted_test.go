package openstack_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// interruptedTests are about work that stops half way.
var interruptedTests = map[string]func(*testing.T){
	"what is not complete is not available":               testIncomplete,
	"a rule that can't be added is missed":                testVital,
	"what a resource still uses is held":                  testHeldUntilLetGo,
	"another one whose answer is lost is deleted as well": testReplacementLost,
	"what was begun is known although nothing tells it":   testReplacedMeanwhile,
	"what is carried out late is not asked for twice":     testLate,
	"what is carried out late goes with its object":       testLateDeleted,
	"an address of another project is not taken":          testNeighboursAddress,
	"a network that gets its subnet later":                testSubnetLater,
	"a name that changes between attempts":                testRenamedMeanwhile,
	"a deletion that fails after it was accepted":         testDeletionFails,
	"a status that can't be written is written later":     testStatusRefused,
	"what was adopted needs not what it was found by":     testAdoptedAlone,
}

// testIncomplete: a resource that exists and does not have all fields of its spec yet can't be
// referred to.
func testIncomplete(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Method: "PUT", Resource: "networks/tags", Times: -1, Status: 503})
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "security-group-rules", Times: -1, Status: 503})
	w.apply(managed("Network", "net", "{tags: [t]}"), managed("SecurityGroup", "group", "{rules: ["+rule(22)+"]}"),
		managed("Port", "port", "{networkRef: net, securityGroupRefs: [group]}"))
	w.fails("Network", "net", "TransientError")
	w.fails("SecurityGroup", "group", "TransientError")
	for kind, name := range map[string]string{"Network": "net", "SecurityGroup": "group"} {
		if w.id(kind, name) == "" {
			t.Errorf("%s has no id, although it exists", kind)
		}
		if available, _ := find(w.get(kind, name), "Available"); available.status != "False" {
			t.Errorf("%s is said to be available: %v", kind, available)
		}
	}
	w.has("Port", "port", "Progressing", waitingFor("Network/net to be ready", "SecurityGroup/group to be ready"))
	w.cloud.ClearFaults()
	w.available("Port", "port")
}

// testVital: a group without a wanted rule is not available, a group without its description
// is.
func testVital(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("SecurityGroup", "group", "{rules: ["+rule(22)+"]}"))
	w.available("SecurityGroup", "group")
	w.cloud.AddFault(emulator.Fault{Method: "PUT", Resource: "security-groups", Times: -1, Status: 503})
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "security-group-rules", Times: -1, Status: 503})
	w.edit("SecurityGroup", "group", `{"spec":{"resource":{"description":"text"}}}`)
	w.fails("SecurityGroup", "group", "TransientError")
	w.has("SecurityGroup", "group", "Available", isAvailable)
	w.cloud.ClearFaults()
	w.available("SecurityGroup", "group")
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "security-group-rules", Times: -1, Status: 503})
	w.edit("SecurityGroup", "group", `{"spec":{"resource":{"rules":[`+rule(22)+`,`+rule(80)+`]}}}`)
	w.fails("SecurityGroup", "group", "TransientError")
	if available, _ := find(w.get("SecurityGroup", "group"), "Available"); available.status != "False" {
		t.Errorf("it is said to be available: %v", available)
	}
	w.cloud.ClearFaults()
	w.available("SecurityGroup", "group")
}

// testHeldUntilLetGo: an object that the spec no longer names is kept until the resource no
// longer uses it.
func testHeldUntilLetGo(t *testing.T) {
	w := newWorld(t)
	w.apply(net, managed("SecurityGroup", "old", "{}"), managed("Port", "port", "{networkRef: net, securityGroupRefs: [old]}"))
	w.available("Port", "port")
	w.edit("Port", "port", `{"spec":{"resource":{"securityGroupRefs":["new"]}}}`)
	w.says("Port", "port", "Waiting for SecurityGroup/new to be created")
	w.delete("SecurityGroup", "old")
	w.says("SecurityGroup", "old", "Waiting for Port/port to be deleted: it holds finalizer openstack.k-orc.cloud/port")
	w.held("SecurityGroup", "old", "port", "securitygroup")
	w.apply(managed("SecurityGroup", "new", "{}"))
	w.available("Port", "port")
	w.gone("SecurityGroup", "old")
}

// losing has the answer to a creation never come, nor any other for a while.
func losing(resource string) emulator.Fault {
	return emulator.Fault{Method: "POST", Resource: resource, Reset: emulator.AfterExecution, Last: true}
}

// testReplacementLost deletes an object while it is not known whether its resource, which was
// deleted in the cloud, was created again.
func testReplacementLost(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "it", "{}"))
	w.available("Network", "it")
	id := w.id("Network", "it")
	w.deleteOutside("network/networks", id)
	w.cloud.AddFault(losing("networks"))
	w.edit("Network", "it", `{"spec":{"resource":{"description":"again"}}}`)
	testenv.Eventually(t, func() error {
		if len(w.inCloud("network/networks", "it")) == 0 {
			return fmt.Errorf("the cloud has no other network yet")
		}
		return nil
	})
	if now := w.id("Network", "it"); now != id {
		t.Fatalf("it knows of %s already", now)
	}
	w.delete("Network", "it")
	w.cloud.ClearFaults()
	w.gone("Network", "it")
	w.empty()
}

// testReplacedMeanwhile replaces an object, so that its finalizer and its records are lost,
// while it is not known whether its resource was created. A Service does not show its creation
// time.
func testReplacedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(losing("services"))
	w.apply(managed("Service", "it", "{type: some}"))
	testenv.Eventually(t, func() error {
		if len(w.inCloud("identity/services", "it")) == 0 {
			return fmt.Errorf("the cloud has no service yet")
		}
		return nil
	})
	w.replace("Service", "it", `{"type": "some", "description": "new"}`)
	w.held("Service", "it", "service")
	// A backup of another object's manifest does as little.
	w.edit("Service", "it", `{"metadata":{"annotations":{"openstack.k-orc.cloud/creation-intent":"{\"uid\":\"other\"}"}}}`)
	testenv.Eventually(t, func() error {
		if n := w.requests("GET", "services"); n < 3 {
			return fmt.Errorf("it was looked for %d times", n)
		}
		return nil
	})
	w.cloud.ClearFaults()
	w.available("Service", "it")
	if ids := w.inCloud("identity/services", "it"); len(ids) != 1 {
		t.Errorf("in the cloud: %v", ids)
	}
}

// late makes a proxy give up on a creation that the service carries out later, so late that the
// test sees the wait.
func late(resource string) emulator.Fault {
	return emulator.Fault{Method: "POST", Resource: resource, Late: 5 * time.Second}
}

func testLate(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(late("networks"))
	w.apply(managed("Network", "it", "{}"))
	w.says("Network", "it", "Waiting for what was asked of OpenStack before: its answer was lost")
	w.available("Network", "it")
	w.records("Network", "it", "Normal", "Adopted", w.id("Network", "it")+" was made by an attempt that was interrupted")
	if n := w.requests("POST", "networks"); n != 1 {
		t.Errorf("it was asked for %d times", n)
	}
}

func testLateDeleted(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(late("networks"))
	w.apply(managed("Network", "it", "{}"))
	testenv.Eventually(t, func() error {
		if w.requests("POST", "networks") == 0 {
			return fmt.Errorf("it was not asked for yet")
		}
		return nil
	})
	w.delete("Network", "it")
	w.gone("Network", "it")
	if asked, deleted := w.requests("POST", "networks"), w.requests("DELETE", "networks"); asked != 1 || deleted != 1 {
		t.Errorf("%d networks were asked for and %d deleted", asked, deleted)
	}
	w.empty()
}

// testNeighboursAddress: an attempt gets no answer while another client gets a floating IP of
// the same network, which an administrator sees as well.
func testNeighboursAddress(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Network", "outside", "{external: true}"), managed("Project", "project", "{name: theirs}"),
		managed("Subnet", "sub", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"))
	w.available("Subnet", "sub")
	w.available("Project", "project")
	theirs := w.post(w.admin(), "floatingips", fmt.Sprintf(`{"floatingip":{"floating_network_id":%q,"project_id":%q}}`,
		w.id("Network", "outside"), w.id("Project", "project")))
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "floatingips", Reset: emulator.BeforeExecution})
	w.apply(managed("FloatingIP", "it", "{floatingNetworkRef: outside}"))
	w.available("FloatingIP", "it")
	if w.id("FloatingIP", "it") == theirs {
		t.Error("it was taken")
	}
	w.deleteOutside("network/floatingips", theirs)
}

// testSubnetLater: a floating IP names the network alone, and gets an address once that
// has a subnet. Neutron calls its absence a bad request.
func testSubnetLater(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("FloatingIP", "it", "{floatingNetworkRef: outside}"), managed("Network", "outside", "{external: true}"))
	w.fails("FloatingIP", "it", "TransientError")
	w.apply(managed("Subnet", "sub", "{networkRef: outside, ipVersion: 4, cidr: 10.5.0.0/24}"))
	w.available("FloatingIP", "it")
}

// testRenamedMeanwhile: an attempt is searched for by the name of its request.
func testRenamedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "networks", Times: 3, Status: 409})
	w.cloud.AddFault(losing("networks"))
	w.apply(managed("Network", "it", "{}"))
	w.fails("Network", "it", "TransientError")
	w.edit("Network", "it", `{"spec":{"resource":{"name":"renamed"}}}`)
	testenv.Eventually(t, func() error {
		if n := len(w.cloud.Inventory()["network/networks"]); n == 0 {
			return fmt.Errorf("the cloud has no network yet")
		}
		return nil
	})
	w.cloud.ClearFaults()
	w.available("Network", "it")
	if all := w.cloud.Inventory()["network/networks"]; len(all) != 1 || all[0].ID != w.id("Network", "it") {
		t.Errorf("the cloud has %v, the object %s", all, w.id("Network", "it"))
	}
}

// testDeletionFails: a volume that can't be deleted after all is said to be so, and goes
// once that is cured.
func testDeletionFails(t *testing.T) {
	w := newWorld(t)
	w.apply(managed("Volume", "volume", "{size: 1}"))
	w.available("Volume", "volume")
	cinder, id := w.client((*openstack.Scope).Volume), w.id("Volume", "volume")
	reset := func(status string) {
		t.Helper()
		body := map[string]any{"os-reset_status": map[string]string{"status": status}}
		address := cinder.ServiceURL("volumes", id, "action")
		if err := kit.Call(t.Context(), cinder, http.MethodPost, address, body, nil); err != nil {
			t.Fatal(err)
		}
	}
	w.cloud.SetBuildTime(time.Hour)
	w.delete("Volume", "volume")
	w.says("Volume", "volume", "Waiting for OpenStack resource to be deleted")
	reset("error_deleting")
	w.fails("Volume", "volume", "TransientError")
	w.cloud.SetBuildTime(0)
	reset("available")
	w.gone("Volume", "volume")
}

// testStatusRefused: the API server refuses the status of an object for good.
func testStatusRefused(t *testing.T) {
	w := newWorld(t)
	allow := w.refuseStatus()
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "networks", Times: -1, Status: 403})
	w.apply(managed("Network", "it", "{}"))
	testenv.Eventually(t, func() error {
		if n := w.requests("POST", "networks"); n < 2 {
			return fmt.Errorf("there were %d attempts", n)
		}
		return nil
	})
	allow()
	w.fails("Network", "it", "InvalidConfiguration")
}

// refuseStatus makes the API server refuse every status of a Network, until the returned
// function is called.
func (w *world) refuseStatus() (allow func()) {
	w.t.Helper()
	allow = testenv.Refuse(w.t, w.ns, openstackv1alpha1.GroupVersion.WithResource("networks/status"), "false", "no status")
	w.apply(imported("Network", "probe", "{filter: {name: nothing}}"))
	testenv.Eventually(w.t, func() error {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"id":"x"}}`))
		err := w.c.Status().Patch(w.t.Context(), w.get("Network", "probe"), patch, client.DryRunAll)
		if !apierrors.IsInvalid(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("a status is taken still: %w", err)
		}
		return nil
	})
	return allow
}

// testAdoptedAlone: spec.adopt of an object is removed, and the object is edited.
func testAdoptedAlone(t *testing.T) {
	w := newWorld(t)
	made := "networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24"
	w.apply(net, manifest("Subnet", "before", "managedOptions: {onDelete: detach}, resource: {"+made+"}"),
		imported("Network", "ref", fmt.Sprintf(byName, "net")))
	w.available("Subnet", "before")
	w.available("Network", "ref")
	w.delete("Subnet", "before")
	w.gone("Subnet", "before")
	w.apply(manifest("Subnet", "after", "adopt: {filter: {networkRef: ref}}, resource: {name: before, "+made+"}"))
	w.available("Subnet", "after")
	w.delete("Network", "ref")
	w.gone("Network", "ref")
	w.edit("Subnet", "after", `{"spec":{"resource":{"description":"text"}}}`)
	w.available("Subnet", "after")
}
