package openstack_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kinship-dev/kinship/internal/cloud/openstack"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// assigned are the references of role assignments.
var assigned = []string{
	managed("Role", "role", "{}"), managed("User", "user", "{}"), managed("Group", "group", "{}"),
	managed("Project", "project", "{}"), managed("Domain", "domain", "{}"),
}

// assignment is the scenario of a role assignment with these references.
func assignment(references string) *scenario {
	return &scenario{
		kind: "RoleAssignment", collection: "identity/role_assignments", needs: assigned,
		minimal: references, full: references,
	}
}

var (
	userOnProject = assignment("{roleRef: role, userRef: user, projectRef: project}")
	groupOnDomain = assignment("{roleRef: role, groupRef: group, domainRef: domain}")
)

var roleAssignmentTests = map[string]func(*testing.T){
	"RoleAssignment of another is kept":    testAssignmentTaken,
	"RoleAssignment is made of four parts": testAssignmentParts,
}

// assignmentOf returns the path of an object's assignment, from its status.
func (w *world) assignmentOf(name string) string {
	w.t.Helper()
	r, _, _ := unstructured.NestedStringMap(w.get("RoleAssignment", name).Object, "status", "resource")
	actor, target := "users/"+r["userID"], "projects/"+r["projectID"]
	if r["groupID"] != "" {
		actor = "groups/" + r["groupID"]
	}
	if r["domainID"] != "" {
		target = "domains/" + r["domainID"]
	}
	return target + "/" + actor + "/roles/" + r["roleID"]
}

// callKeystone sends a request to Keystone as an administrator.
func (w *world) callKeystone(method, path string) error {
	w.t.Helper()
	c := w.client((*openstack.Scope).Identity)
	return kit.Call(w.t.Context(), c, method, c.ServiceURL(path), nil, nil)
}

func testAssignmentRemoved(w *world) {
	w.t.Helper()
	userOnProject.prepare(w)
	w.apply(manifest("RoleAssignment", "it", "resyncPeriod: 1s, resource: "+userOnProject.minimal))
	w.available("RoleAssignment", "it")
	path := w.assignmentOf("it")
	for range 2 { // The second time, the assignment was created again once.
		if err := w.callKeystone(http.MethodDelete, path); err != nil {
			w.t.Fatal(err)
		}
		testenv.Eventually(w.t, func() error { return w.callKeystone(http.MethodHead, path) })
	}
	w.available("RoleAssignment", "it")
}

// testAssignmentTaken: an assignment that a user created is refused, and then adopted with
// spec.adopt.
func testAssignmentTaken(t *testing.T) {
	w := newWorld(t)
	userOnProject.prepare(w)
	path := fmt.Sprintf("projects/%s/users/%s/roles/%s", w.id("Project", "project"), w.id("User", "user"), w.id("Role", "role"))
	if err := w.callKeystone(http.MethodPut, path); err != nil {
		t.Fatal(err)
	}
	w.apply(managed("RoleAssignment", "it", userOnProject.minimal))
	w.has("RoleAssignment", "it", "Progressing", want{
		"False", "InvalidConfiguration",
		"invalid configuration creating resource: there is such a role assignment already",
	})
	w.delete("RoleAssignment", "it")
	w.gone("RoleAssignment", "it")
	if err := w.callKeystone(http.MethodHead, path); err != nil {
		t.Fatalf("it was ended: %v", err)
	}
	w.apply(manifest("RoleAssignment", "mine",
		"adopt: {filter: {roleRef: role, userRef: user}}, resource: "+userOnProject.minimal))
	w.available("RoleAssignment", "mine")
	w.delete("RoleAssignment", "mine")
	w.gone("RoleAssignment", "mine")
	if err := w.callKeystone(http.MethodHead, path); !openstack.IsNotFound(err) {
		t.Errorf("it was adopted and is left: %v", err)
	}
}

func testAssignmentParts(t *testing.T) {
	w := newWorld(t)
	for resource, message := range map[string]string{
		"{roleRef: role, projectRef: project}":                             "exactly one of userRef or groupRef is required",
		"{roleRef: role, userRef: user, groupRef: g, projectRef: p}":       "exactly one of userRef or groupRef is required",
		"{roleRef: role, userRef: user}":                                   "exactly one of projectRef or domainRef is required",
		"{roleRef: role, userRef: user, projectRef: p, domainRef: domain}": "exactly one of projectRef or domainRef is required",
	} {
		if err := w.refused(managed("RoleAssignment", "it", resource)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: %v", resource, err)
		}
	}
}

// TestRefusedIsNotAdopted: after a restart, an operator finds an assignment whose creation was
// refused.
func TestRefusedIsNotAdopted(t *testing.T) {
	first := operator.Exec(t, "--packs", "openstack")
	w := newWorld(t)
	w.apply(imported("Role", "theirs", "{filter: {name: member}}"), imported("User", "theirs", "{filter: {name: demo}}"),
		imported("Project", "theirs", "{filter: {name: demo}}"),
		managed("RoleAssignment", "it", "{roleRef: theirs, userRef: theirs, projectRef: theirs}"))
	w.fails("RoleAssignment", "it", "InvalidConfiguration")
	first.Kill()
	w.cloud.ResetCalls()
	operator.Exec(t, "--packs", "openstack")
	testenv.Eventually(t, func() error {
		if w.calls("identity") == 0 {
			return fmt.Errorf("the other operator has not looked yet")
		}
		return nil
	})
	w.settles()
	w.fails("RoleAssignment", "it", "InvalidConfiguration")
	w.delete("RoleAssignment", "it")
	w.gone("RoleAssignment", "it")
	w.apply(imported("RoleAssignment", "still", "{filter: {roleRef: theirs, userRef: theirs, projectRef: theirs}}"))
	w.available("RoleAssignment", "still")
	w.tidyUp()
}
