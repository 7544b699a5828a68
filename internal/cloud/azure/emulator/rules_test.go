package emulator

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

func TestOwnersMustExistAndBeProvisioned(t *testing.T) {
	w := newWorld(t)
	w.refused("a network without its group", w.put(vnet, located("")), 404, "ResourceGroupNotFound")
	w.ready(group, located(""))
	w.refused("a subnet without its network", w.put(subnet, `{}`), 404, "ParentResourceNotFound")
	w.is("a network", w.put(vnet, located("")), 201)
	w.refused("a subnet in a network that is being created", w.put(subnet, `{}`), 409, "AnotherOperationInProgress")
	w.settle().is("a subnet", w.put(subnet, `{}`), 201)
	if diff := cmp.Diff(map[Reason]int{NoOwner: 3}, w.cloud.Refused()); diff != "" {
		t.Errorf("refused (-want, +got): %s", diff)
	}
}

func TestReferencesMustExistAndBeProvisioned(t *testing.T) {
	w := newWorld(t).ready(group, located("")).ready(vnet, located(""))
	w.refused("a missing subnet", w.put(nic, nicIn(subnet)), 400, "InvalidResourceReference")
	w.put(subnet, `{}`)
	r := w.put(nic, nicIn(subnet))
	w.refused("a subnet that is being created", r, 429, "RetryableError/ReferencedResourceNotProvisioned")
	if after := r.header.Get("Retry-After"); after != "" {
		t.Errorf("Retry-After is %s, which ARM leaves out here", after)
	}
	w.settle().is("a subnet in any case of letters", w.put(nic, nicIn(strings.ToUpper(subnet))), 201)
	disk := group + "/providers/Microsoft.Compute/disks/disk"
	r = w.put(disk, located(reference("source", disk+"2")))
	w.refused("a missing reference of Compute", r, 404, "NotFound")
	if target := mapOf(r.body["error"])["target"]; target != disk+"2" {
		t.Errorf("the target is %v", target)
	}
	if diff := cmp.Diff(map[Reason]int{NoReference: 3}, w.cloud.Refused()); diff != "" {
		t.Errorf("refused (-want, +got): %s", diff)
	}
}

func TestReferencesToObjectsInABody(t *testing.T) {
	balancer := group + "/providers/Microsoft.Network/loadBalancers/lb"
	pool := func(name string) string { return reference("pool", balancer+"/backendAddressPools/"+name) }
	w := newWorld(t).ready(group, located(""))
	w.is("a balancer that refers to itself", w.put(balancer, located(
		`"backendAddressPools": [{"name": "a"}], "loadBalancingRules": [{"name": "r", "properties": {`+pool("a")+`}}]`)), 201)
	w.settle().refused("no such pool", w.put(nic, located(pool("b"))), 400, "InvalidResourceReference")
	w.is("a pool", w.put(nic, located(pool("A"))), 201)
	pools := mapOf(w.get(balancer).body["properties"])["backendAddressPools"].([]any)
	if got := mapOf(pools[0])["id"]; got != balancer+"/backendAddressPools/a" {
		t.Errorf("the pool has the id %v", got)
	}
}

func TestTagsAndKeysOfMaps(t *testing.T) {
	identity := group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/me"
	w := newWorld(t).ready(group, located(""))
	w.is("an id in a tag is no reference", w.put(vnet, `{"location": "westus2", "tags": {"of": "`+subnet+`x"}}`), 201)
	w.refused("a key is one", w.put(nic, `{"location": "westus2", "identity": {
		"userAssignedIdentities": {"`+identity+`": {}}}}`), 400, "InvalidResourceReference")
}

// TestSiblingsInTurn: ARM changes one route of a table at a time, and one child of all the other types of which the
// client knows this. The parent is not changed meanwhile either, nor is a child of another of these types.
func TestSiblingsInTurn(t *testing.T) {
	redis := group + "/providers/Microsoft.Cache/redis/one"
	cases := []struct {
		parent, children, others string
		status                   int
		code, retryAfter         string
	}{
		{tables + "/table", "routes", "routes", 429, "RetryableError/RetryableErrorDueToAnotherOperation", "11"},
		{vnet, "subnets", "virtualNetworkPeerings", 409, "AnotherOperationInProgress", ""},
		{vnet, "virtualNetworkPeerings", "subnets", 409, "AnotherOperationInProgress", ""},
		{redis, "accessPolicies", "accessPolicyAssignments", 409, "Conflict", ""},
		{redis, "accessPolicyAssignments", "accessPolicies", 409, "Conflict", ""},
	}
	tested := make([]string, 0, len(cases))
	for _, c := range cases {
		tested = append(tested, id(t, c.parent+"/"+c.children+"/a").Type())
		t.Run(c.children, func(t *testing.T) {
			w := newWorld(t).ready(group, located("")).ready(c.parent, located(""))
			first, second := c.parent+"/"+c.children+"/a", c.parent+"/"+c.children+"/b"
			w.is("the first", w.put(first, `{}`), 201)
			r := w.put(second, `{}`)
			w.refused("the second", r, c.status, c.code)
			if got := r.header.Get("Retry-After"); got != c.retryAfter {
				t.Errorf("Retry-After is %q", got)
			}
			w.refused("another type", w.put(c.parent+"/"+c.others+"/c", `{}`), c.status, c.code)
			w.refused("the parent", w.put(c.parent, located("")), c.status, c.code)
			w.settle().is("the second, later", w.put(second, `{}`), 201)
			w.refused("a change of the first meanwhile", w.put(first, `{}`), c.status, c.code)
			w.refused("a deletion meanwhile", w.delete(first), c.status, c.code)
			w.settle().is("a deletion, later", w.delete(first), 202)
			w.settle().is("the parent, later", w.put(c.parent, located("")), 200)
		})
	}
	slices.Sort(tested)
	if known := slices.Sorted(slices.Values(azure.ExclusiveTypes())); !slices.Equal(known, tested) {
		t.Errorf("%v are tested, and the client knows %v", tested, known)
	}
}

func TestAPutOfTheParentReplacesTheChildren(t *testing.T) {
	w := newWorld(t).withNetwork().ready(nic, nicIn(subnet)).ready(vnet+"/subnets/two", `{}`)
	w.refused("subnets are left out, and one is in use", w.put(vnet, located("")), 400, "InUseSubnetCannotBeDeleted")
	w.is("nothing was changed", w.get(vnet+"/subnets/two"), 200)
	w.is("one is kept", w.put(vnet, located(`"subnets": [{"name": "one"}, {"name": "three"}]`)), 200)
	w.settle().is("the other is gone", w.get(vnet+"/subnets/two"), 404)
	w.is("a third was made", w.get(vnet+"/subnets/three"), 200)
	w.is("a later version keeps what is left out", w.put(vnet+"?api-version=2023-11-01", located("")), 200)
	w.settle().is("kept", w.get(vnet+"/subnets/three"), 200)
}

func TestResourcesInUse(t *testing.T) {
	w := newWorld(t).withNetwork().ready(nic, nicIn(subnet))
	w.refused("a subnet", w.delete(subnet), 400, "InUseSubnetCannotBeDeleted")
	w.refused("its network", w.delete(vnet), 400, "InUseSubnetCannotBeDeleted")
	w.is("the interface", w.delete(nic), 202)
	w.refused("a user is being deleted", w.delete(subnet), 400, "InUseSubnetCannotBeDeleted")
	w.settle().is("then", w.delete(subnet), 202)
	if diff := cmp.Diff(map[Reason]int{Used: 3}, w.cloud.Refused()); diff != "" {
		t.Errorf("refused (-want, +got): %s", diff)
	}
}

// TestOperationOfAFormerResource ends an operation after its rule was removed and made again.
func TestOperationOfAFormerResource(t *testing.T) {
	rules := group + "/providers/Microsoft.Network/networkSecurityGroups/rules"
	rule := rules + "/securityRules/one"
	w := newWorld(t).ready(group, located("")).ready(rules, located(""))
	w.is("a rule", w.put(rule, `{}`), 201)
	w.now = w.now.Add(short / 2)
	w.is("it is removed", w.put(rules, located("")), 200)
	w.is("and made again", w.put(rule, `{}`), 201)
	w.now = w.now.Add(short / 2)
	if state := w.get(rule).state(); state != "Updating" {
		t.Errorf("the first operation has ended, and the rule is %s", state)
	}
}

func TestNestedResources(t *testing.T) {
	zone := group + "/providers/Microsoft.Network/privateDnsZones/example.com"
	w := newWorld(t).ready(group, located("")).ready(zone, `{"location": "global"}`).ready(zone+"/A/www", `{}`)
	w.refused("a zone", w.delete(zone), 409, "CannotDeleteResource")
	w.is("its record", w.delete(zone+"/A/www"), 202)
	w.settle().is("then", w.delete(zone), 202)
}

func TestDeletedGroupTakesAllAlong(t *testing.T) {
	w := newWorld(t).withNetwork().ready(nic, nicIn(subnet))
	for i := range 200 {
		w.put(fmt.Sprintf("%s/providers/Microsoft.Test/things/%d", group, i), `{}`)
	}
	r := w.delete(group)
	w.is("the group", r, 202)
	if again := w.delete(group); again.header.Get("Location") != r.header.Get("Location") {
		t.Error("a second DELETE has another address")
	}
	if state := w.get(group).state(); state != "Deleting" {
		t.Errorf("the group is %s", state)
	}
	w.refused("what is put meanwhile", w.put(networks+"/late", located("")), 409, "ResourceGroupBeingDeleted")
	poll := strings.TrimPrefix(r.header.Get("Location"), "http://example.com")
	w.is("the poll", w.get(poll), 202)
	w.settle().is("the last poll", w.get(poll), 200)
	w.refused("the group", w.get(group), 404, "ResourceGroupNotFound")
	w.refused("a child", w.delete(subnet), 404, "ResourceGroupNotFound")
	if left := w.cloud.Inventory(); len(left) != 0 {
		t.Errorf("%d resources are left, such as %v", len(left), left[0])
	}
	w.is("the same name again", w.put(group, located("")), 201)
	w.refused("is empty", w.get(vnet), 404, "ResourceNotFound")
}

func TestGroupWhoseResourcesAreUsedElsewhere(t *testing.T) {
	other := strings.Replace(nic, "/rg/", "/rg2/", 1)
	w := newWorld(t).withNetwork().ready(subscription+"/resourceGroups/rg2", located("")).ready(other, nicIn(subnet))
	poll := func() result {
		r := w.delete(group)
		w.is("the group", r, 202)
		return w.settle().get(strings.TrimPrefix(r.header.Get("Location"), "http://example.com"))
	}
	w.refused("a subnet is used in another group", poll(), 409, "ResourceGroupDeletionBlocked")
	if state := w.get(group).state(); state != "Succeeded" {
		t.Errorf("the group is %s", state)
	}
	w.is("the interface", w.delete(other), 202)
	w.settle().is("then", poll(), 200)
}

func TestDeletingWhatIsNotThere(t *testing.T) {
	w := newWorld(t).withNetwork()
	w.is("a resource", w.delete(nic), 204)
	w.refused("a child of a missing parent", w.delete(networks+"/other/subnets/one"), 404, "ResourceNotFound")
	w.refused("a missing subnet", w.get(vnet+"/subnets/two"), 404, "NotFound")
	w.refused("in a provider that names parents",
		w.get(group+"/providers/Microsoft.EventGrid/domains/d/topics/t"), 404, "ParentResourceNotFound")
	w.refused("a group", w.delete(subscription+"/resourceGroups/other"), 404, "ResourceGroupNotFound")
	if diff := cmp.Diff(map[Reason]int{Absent: 3}, w.cloud.Refused()); diff != "" {
		t.Errorf("in vain (-want, +got): %s", diff)
	}
	want := map[string]int{http.MethodDelete: 1}
	if diff := cmp.Diff(want, w.cloud.CallsFor(id(t, strings.ToUpper(nic)))); diff != "" {
		t.Errorf("requests for the interface (-want, +got): %s", diff)
	}
}

func TestVersionsTypesAndScopes(t *testing.T) {
	types := Types{}
	types.add(resourceGroup, Type{
		Name: "Microsoft.Test/things", Versions: []string{"2020-03-01"}, Scopes: []azure.Scope{azure.ResourceGroupScope},
	})
	w := newWorld(t, func(o *Options) {
		o.Types, o.Subscriptions = types, []string{"00000000-0000-0000-0000-000000000001"}
	}).ready(group, located(""))
	thing := group + "/providers/microsoft.test/THINGS/a"
	w.refused("no version", w.get(thing+"?api-version="), 400, "MissingApiVersionParameter")
	w.refused("a malformed one", w.get(thing+"?api-version=1"), 400, "InvalidApiVersionParameter")
	w.refused("an unknown one", w.put(thing+"?api-version=2021-03-01", `{}`), 400, "NoRegisteredProviderFound")
	w.refused("an unknown type", w.put(group+"/providers/Microsoft.Test/other/a", `{}`), 404, "InvalidResourceType")
	w.refused("another scope", w.put(subscription+"/providers/Microsoft.Test/things/a", `{}`), 400, "InvalidResourceScope")
	w.refused("another subscription", w.get(strings.ReplaceAll(thing, "0001", "0002")), 404, "SubscriptionNotFound")
	w.refused("a body that is no object", w.put(thing, `[]`), 400, "InvalidRequestContent")
	w.refused("a long body", w.put(thing, `{"a": "`+strings.Repeat("x", maxRequest)+`"}`), 413, "RequestContentTooLarge")
	w.refused("another method", w.do(http.MethodPatch, thing, `{}`), 405, "MethodNotAllowed")
	w.is("a thing", w.put(thing, `{}`), 201)
	if got := w.get(thing).body["type"]; got != "Microsoft.Test/things" {
		t.Errorf("the type is %v", got)
	}
}

func TestTypesOfACatalogue(t *testing.T) {
	find := func(name string) (Known, bool) {
		known := Known{
			Name: networksType, Versions: []string{version}, Scopes: []azure.Scope{azure.ResourceGroupScope},
			Embedded: []Embedded{{Property: "taps", Type: networksType + "/taps"}},
		}
		return known, strings.EqualFold(name, known.Name)
	}
	w := newWorld(t, func(o *Options) { o.Types = Observed().Restrict(find) }).ready(group, located("")).
		ready(strings.ToLower(vnet), located(""))
	body := w.get(vnet).body
	properties := mapOf(body["properties"])
	if properties["taps"] == nil || properties["subnets"] == nil || body["type"] != networksType {
		t.Errorf("%v", body)
	}
	w.refused("another version", w.get(vnet+"?api-version=2021-01-01"), 400, "NoRegisteredProviderFound")
	w.refused("another type", w.put(nic, located("")), 404, "InvalidResourceType")
	other := symbolic(networksType, "other", `, "location": "westus2"`)
	w.is("a deployment", w.put(deployment1, template(`[`+other+`]`)), 200)
}

func TestLocations(t *testing.T) {
	w := newWorld(t).ready(group, located(""))
	w.refused("none", w.put(vnet, `{}`), 400, "LocationRequired")
	w.refused("an unknown one", w.put(vnet, `{"location": "nowhere"}`), 400, "LocationNotAvailableForResourceType")
	w.ready(vnet, `{"location": "West US 2"}`)
	if got := w.get(vnet).body["location"]; got != "westus2" {
		t.Errorf("the location is %v", got)
	}
	w.refused("another one", w.put(vnet, `{"location": "eastus"}`), 409, "InvalidResourceLocation")
	w.refused("another one", w.put(group, `{"location": "eastus"}`), 409, "InvalidResourceGroupLocation")
}

func TestConditions(t *testing.T) {
	w := newWorld(t).withNetwork()
	before := w.get(vnet).header.Get("ETag")
	w.ready(subnet, `{"properties": {"addressPrefix": "10.0.1.0/24"}}`)
	if after := w.get(vnet).header.Get("ETag"); before == after || after != w.get(subnet).header.Get("ETag") {
		t.Errorf("the etag was %s and is %s: a change of a subnet changes its network", before, after)
	}
	before = w.get(vnet).header.Get("ETag")
	w.ready(vnet+"/subnets/two", `{}`).is("a subnet", w.delete(vnet+"/subnets/two"), 202)
	deleting := w.get(vnet).header.Get("ETag")
	if after := w.settle().get(vnet).header.Get("ETag"); after == deleting {
		t.Errorf("the etag is still %s after the deletion of a subnet", after)
	}
	w.refused("an old etag", w.do(http.MethodPut, vnet, located(""), "If-Match", before), 412, "PreconditionFailed")
	w.refused("not again", w.do(http.MethodPut, vnet, located(""), "If-None-Match", "*"), 412, "PreconditionFailed")
	w.is("the present one", w.do(http.MethodPut, vnet, located(`"subnets": [{"name": "one"}]`),
		"If-Match", w.get(vnet).header.Get("ETag")), 200)
}

func TestExtensions(t *testing.T) {
	role := vnet + "/providers/Microsoft.Authorization/roleAssignments/7b83888d-03fb-55bb-8209-aec4e36328a8"
	w := newWorld(t).ready(group, located(""))
	w.refused("of a missing resource", w.put(role, `{}`), 404, "ParentResourceNotFound")
	w.put(vnet, located(""))
	w.is("of a resource that is being created", w.put(role, `{"properties": {"principalId": "x"}}`), 201)
	w.settle()
	if got := w.get(role).state(); got != "" {
		t.Errorf("a role assignment has the state %s", got)
	}
	w.is("the network", w.delete(vnet), 202)
	w.settle().ready(vnet, located("")).is("the role went along", w.get(role), 404)
	w.is("in a management group",
		w.put("/providers/Microsoft.Management/managementGroups/mg/providers/Microsoft.Authorization/locks/l", `{}`), 201)
	w.is("in the tenant", w.put("/providers/Microsoft.Subscription/aliases/a", `{}`), 201)
}

func TestLists(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.PageSize = 2 }).withNetwork().ready(networks+"/a", located("")).
		ready(networks+"/b", located(""))
	names := func(path string) (all []string) {
		for path != "" {
			page := w.get(path)
			w.is(path, page, 200)
			for _, one := range page.body["value"].([]any) {
				all = append(all, textOf(mapOf(one)["name"]))
			}
			path = strings.TrimPrefix(textOf(page.body["nextLink"]), "http://example.com")
		}
		return all
	}
	for path, want := range map[string][]string{
		networks:          {"a", "b", "net"},
		vnet + "/subnets": {"one"},
		subscription + "/providers/Microsoft.Network/virtualNetworks": {"a", "b", "net"},
		subscription + "/resourceGroups":                              {"rg"},
		group + "/resources":                                          {"a", "b", "net"},
		subscription + "/resources":                                   {"a", "b", "net"},
	} {
		if diff := cmp.Diff(want, names(path)); diff != "" {
			t.Errorf("%s (-want, +got): %s", path, diff)
		}
	}
	w.refused("in a missing group", w.get(strings.Replace(networks, "/rg/", "/no/", 1)), 404, "ResourceGroupNotFound")
}

func TestOptionsOfTime(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.BuildTime, o.RetryAfter = -1, -1 }).ready(group, located(""))
	r := w.put(vnet, located(""))
	if r.state() != "Succeeded" || r.header.Get("Azure-AsyncOperation") == "" || r.header.Get("Retry-After") != "" {
		t.Errorf("at once: %s, %v", r.state(), r.header)
	}
	w = newWorld(t, func(o *Options) { o.BuildTime, o.RetryAfter = time.Hour, 7 }).ready(group, located(""))
	if r = w.put(vnet, located("")); r.header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
	}
	if state := w.settle().get(vnet).state(); state != "Updating" {
		t.Errorf("after a minute of an hour the network is %s", state)
	}
}
