package openstack_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// conditionText is a text of the published conditions, of which tests of that API's
// users compare some literally.
type conditionText struct {
	published string
	// ours is set where ours differs. docs/compatibility/openstack.md has both then.
	ours string
	// show makes the operator write exactly this text. Nil means that our operator never writes
	// it.
	show func(*world)
}

var conditionTexts = []conditionText{
	{published: "OpenStack resource is available", show: showAvailable},
	{published: "OpenStack resource is up to date", show: showAvailable},
	{published: "Waiting for OpenStack resource to be created externally", show: showNothingToImport},
	{published: "found more than one matching OpenStack resource during import", show: showAmbiguousImport},
	{published: "resource has been deleted from OpenStack", show: scenarioOf("Network").importGone},
	{published: "Waiting for KIND/NAME to be created", show: showWaits},
	{published: "Waiting for KIND/NAME to be ready", show: showWaits},
	{published: "Data saved", show: showDataSaved},
	{
		published: "Waiting for KIND/NAME to be deleted",
		ours:      "Waiting for KIND/NAME to be deleted: it holds finalizer FINALIZER", show: showGuarded,
	},
	{published: "Waiting for finalizer FINALIZER to be removed", show: showStrangeFinalizer},
	{published: "Waiting for OpenStack resource to be ready", show: showBuilding},
	{published: "Waiting for OpenStack resource to be deleted", show: showLingering},
	{published: "Resource status will be refreshed", show: showRefresh},
	{published: "OpenStack resource was deleted externally; will recreate on next reconcile"},
	{published: "referenced resource does not exist in OpenStack", show: showUnknownID},
	{
		published: "found more than one matching OpenStack resource during adoption",
		ours: "found more than one matching OpenStack resource during adoption: " +
			"name the right one in spec.adopt, or delete what is not needed",
		show: showAmbiguousAdoption,
	},
	{published: "invalid configuration creating resource: REASON", show: showInvalid},
}

// TestPublishedTextsTold: the page tells of every text that ours words otherwise, or never
// says.
func TestPublishedTextsTold(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conditionTexts {
		there, here := "| `"+c.published+"`", "| `"+c.ours+"`"
		differs := c.ours != "" || c.show == nil
		if differs && (!strings.Contains(string(text), there) || (c.ours != "" && !strings.Contains(string(text), here))) {
			t.Errorf("%s does not tell that %q is %q here", page, c.published, c.ours)
		}
	}
}

// publishedTexts are the tests that show each text.
func publishedTexts() map[string]func(*testing.T) {
	tests := map[string]func(*testing.T){}
	for _, text := range conditionTexts {
		if text.show != nil {
			tests["published text: "+text.published] = func(t *testing.T) { text.show(newWorld(t)) }
		}
	}
	return tests
}

// scenarioOf returns the scenario of a kind.
func scenarioOf(kind string) *scenario {
	all := slices.Concat(scenarios, more, identities, sizes, images, volumes, machines,
		[]scenario{*userOnProject, credential})
	i := slices.IndexFunc(all, func(s scenario) bool { return s.kind == kind })
	return &all[i]
}

func showAvailable(w *world) {
	w.t.Helper()
	w.apply(managed("Network", "it", "{}"))
	w.has("Network", "it", "Available", want{"True", "Success", "OpenStack resource is available"})
	w.has("Network", "it", "Progressing", want{"False", "Success", "OpenStack resource is up to date"})
}

// tells waits until Available and Progressing tell the same of an object.
func (w *world) tells(kind, name string, expected want) {
	w.t.Helper()
	w.has(kind, name, "Progressing", expected)
	expected.status = "False"
	w.has(kind, name, "Available", expected)
}

func showNothingToImport(w *world) {
	w.t.Helper()
	w.apply(imported("Network", "it", fmt.Sprintf(byName, "nothing")))
	w.tells("Network", "it", want{"True", "Progressing", "Waiting for OpenStack resource to be created externally"})
}

func showAmbiguousImport(w *world) {
	w.t.Helper()
	for range 2 {
		w.post(w.admin(), "networks", `{"network":{"name":"theirs"}}`)
	}
	w.apply(imported("Network", "it", fmt.Sprintf(byName, "theirs")))
	w.tells("Network", "it",
		want{"False", "InvalidConfiguration", "found more than one matching OpenStack resource during import"})
}

func showUnknownID(w *world) {
	w.t.Helper()
	w.apply(imported("Network", "it", "{id: 7fffffff-0000-4000-8000-000000000000}"))
	w.tells("Network", "it", want{"False", "UnrecoverableError", "referenced resource does not exist in OpenStack"})
}

// waiter is an object that refers to other objects, all of them called "it".
type waiter struct {
	kind, name, resource string
	// targets are their kinds, in the order of the message.
	targets []string
}

// waiters refer to every kind that the published operator waits for, in fields of
// spec.resource; credentials aside.
var waiters = []waiter{
	{"Network", "network", "{projectRef: it}", []string{"Project"}},
	{"Project", "project", "{domainRef: it}", []string{"Domain"}},
	{
		"Subnet", "subnet", "{networkRef: it, routerRef: it, ipVersion: 4, cidr: 10.0.0.0/24}",
		[]string{"Network", "Router"},
	},
	{"FloatingIP", "fip", "{floatingSubnetRef: it, portRef: it}", []string{"Subnet", "Port"}},
	{"Volume", "volume", "{size: 1, volumeTypeRef: it, imageRef: it}", []string{"VolumeType", "Image"}},
	{
		"Server", "server",
		"{flavorRef: it, keypairRef: it, bootVolume: {volumeRef: it}, ports: [], schedulerHints: {serverGroupRef: it}}",
		[]string{"Volume", "Flavor", "ServerGroup", "KeyPair"},
	},
	{
		"Port", "port", "{networkRef: it, securityGroupRefs: [it], hostID: {serverRef: it}}",
		[]string{"Network", "SecurityGroup", "Server"},
	},
	{"RoleAssignment", "of-user", "{roleRef: it, userRef: it, projectRef: it}", []string{"Role", "User", "Project"}},
	{"RoleAssignment", "of-group", "{roleRef: it, groupRef: it, domainRef: it}", []string{"Role", "Group", "Domain"}},
	{"Endpoint", "endpoint", "{interface: public, url: 'http://example.com', serviceRef: it}", []string{"Service"}},
}

// showWaits has references to missing objects, then to objects that are not ready: imports
// whose own Secret is missing.
func showWaits(w *world) {
	w.t.Helper()
	var targets []string
	told := func(of waiter, what string) want {
		lines := make([]string, 0, len(of.targets))
		for _, kind := range of.targets {
			lines = append(lines, kind+"/it to be "+what)
		}
		return waitingFor(lines...)
	}
	for _, from := range waiters {
		w.apply(managed(from.kind, from.name, from.resource))
		targets = append(targets, from.targets...)
	}
	for _, from := range waiters {
		w.tells(from.kind, from.name, told(from, "created"))
	}
	slices.Sort(targets)
	for _, kind := range slices.Compact(targets) {
		text := imported(kind, "it", "{id: 7fffffff-0000-4000-8000-000000000000}")
		w.apply(strings.ReplaceAll(text, "secretName: cloud", "secretName: absent"))
		w.tells(kind, "it", waitingFor("Secret/absent to be created"))
	}
	for _, from := range waiters {
		w.tells(from.kind, from.name, told(from, "ready"))
	}
	w.apply(imported("Subnet", "by-parents", "{filter: {networkRef: none, projectRef: none}}"))
	w.tells("Subnet", "by-parents", waitingFor("Network/none to be created", "Project/none to be created"))
}

func showDataSaved(w *world) {
	w.t.Helper()
	w.apply(managed("Image", "it", scenarioOf("Image").minimal))
	w.has("Image", "it", "Downloading", want{"False", "Success", "Data saved"})
}

func showGuarded(w *world) {
	w.t.Helper()
	w.apply(net, managed("Subnet", "sub", "{networkRef: net, ipVersion: 4, cidr: 10.0.0.0/24}"))
	w.available("Subnet", "sub")
	w.delete("Network", "net")
	w.has("Network", "net", "Progressing", want{
		"True", "Progressing", "Waiting for Subnet/sub to be deleted: it holds finalizer openstack.k-orc.cloud/subnet",
	})
	if available, _ := find(w.get("Network", "net"), "Available"); available != isAvailable {
		w.t.Errorf("Available is %v", available)
	}
}

func showStrangeFinalizer(w *world) {
	w.t.Helper()
	w.apply(managed("Network", "it", "{}"))
	w.available("Network", "it")
	finalizers := func(change func([]string) []string) {
		testenv.Eventually(w.t, func() error {
			u := w.get("Network", "it")
			u.SetFinalizers(change(u.GetFinalizers()))
			return w.c.Update(w.t.Context(), u)
		})
	}
	finalizers(func(all []string) []string { return append(all, "example.com/theirs") })
	w.delete("Network", "it")
	w.has("Network", "it", "Progressing",
		want{"True", "Progressing", "Waiting for finalizer example.com/theirs to be removed"})
	finalizers(func(all []string) []string {
		return slices.DeleteFunc(all, func(f string) bool { return f == "example.com/theirs" })
	})
	w.gone("Network", "it")
}

func showBuilding(w *world) {
	w.t.Helper()
	w.cloud.SetBuildTime(time.Hour)
	w.apply(managed("Volume", "it", "{size: 1}"))
	w.says("Volume", "it", "Waiting for OpenStack resource to be ready")
	w.cloud.SetBuildTime(0)
}

func showLingering(w *world) {
	w.t.Helper()
	w.apply(managed("Volume", "it", "{size: 1}"))
	w.available("Volume", "it")
	w.cloud.SetBuildTime(time.Hour)
	w.delete("Volume", "it")
	w.has("Volume", "it", "Progressing",
		want{"True", "Progressing", "Waiting for OpenStack resource to be deleted"})
	w.cloud.SetBuildTime(0)
}

// showRefresh delays the cloud's changes after the creation.
func showRefresh(w *world) {
	w.t.Helper()
	w.cloud.AddFault(emulator.Fault{Method: "PUT", Resource: "networks/tags", Delay: 20 * time.Second})
	w.apply(managed("Network", "it", "{tags: [t]}"))
	w.tells("Network", "it", want{"True", "Progressing", "Resource status will be refreshed"})
	w.cloud.ClearFaults()
	w.available("Network", "it")
}

// showAmbiguousAdoption loses the answer to a creation, while another client creates a network
// of the same name.
func showAmbiguousAdoption(w *world) {
	w.t.Helper()
	theirs := w.post(w.admin(), "networks", `{"network":{"name":"theirs"}}`)
	w.cloud.AddFault(emulator.Fault{Method: "POST", Resource: "networks", Reset: emulator.AfterExecution})
	w.apply(managed("Network", "it", "{name: theirs}"))
	w.tells("Network", "it", want{
		"True", "TransientError", "found more than one matching OpenStack resource during adoption: " +
			"name the right one in spec.adopt, or delete what is not needed",
	})
	w.deleteOutside("network/networks", theirs)
	w.available("Network", "it")
}

func showInvalid(w *world) {
	w.t.Helper()
	w.apply("\napiVersion: v1\nkind: Secret\nmetadata: {name: empty}\n---", managed("User", "it", "{passwordRef: empty}"))
	w.tells("User", "it", want{
		"False", "InvalidConfiguration",
		"invalid configuration creating resource: Secret empty has no key password",
	})
}
