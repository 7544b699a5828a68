package engine_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/kinship-dev/kinship/examples/library"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/engine"
	"github.com/kinship-dev/kinship/pkg/lineage"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// harbour is the operator of examples/library, and the namespace of a test.
type harbour struct {
	t         *testing.T
	c         client.Client
	engine    *engine.Engine
	namespace string
}

// startHarbour starts the operator.
func startHarbour(t *testing.T) *harbour {
	t.Helper()
	h := &harbour{t: t, c: testenv.Client(t, nil), namespace: testenv.Namespace(t)}
	config := testenv.Config(t)
	factory := &watch.Factory{Scheme: scheme.Scheme, Health: &watch.Health{}} // Its watches end with the manager.
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{NewInformer: factory.New},
	})
	h.must(err)
	found, err := discovery.NewDiscoveryClientForConfig(config)
	h.must(err)
	h.engine = library.New(mgr, h.c, watch.NewCatalog(discovery.ToDiscoveryInterfaceWithContext(found), nil))
	h.must(h.engine.Start(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(t.Context()) }()
	t.Cleanup(func() { h.must(<-ended) })
	return h
}

func (h *harbour) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *harbour) id(kind, name string) object.ID {
	return object.ID{Group: "harbour.example", Kind: kind, Namespace: h.namespace, Name: name}
}

// apply applies an object with fields of its spec, such as "pierRef: north".
func (h *harbour) apply(kind, name string, fields ...string) *unstructured.Unstructured {
	h.t.Helper()
	text := fmt.Sprintf("apiVersion: harbour.example/v1\nkind: %s\nmetadata: {name: %s}\n", kind, name)
	if len(fields) > 0 {
		text += "spec: {" + strings.Join(fields, ", ") + "}\n"
	}
	return testenv.Apply(h.t, text, testenv.In(h.namespace))[0]
}

// get returns an object from the API server, or nil.
func (h *harbour) get(kind, name string) *unstructured.Unstructured {
	h.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("harbour.example/v1")
	u.SetKind(kind)
	err := h.c.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, u)
	if client.IgnoreNotFound(err) != nil {
		h.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return u
}

// serve makes a Pier ready.
func (h *harbour) serve(pier string) {
	h.t.Helper()
	patch := `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Built","message":"",` +
		`"lastTransitionTime":"2026-11-24T00:00:00Z"}]}}`
	merge := client.RawPatch("application/merge-patch+json", []byte(patch))
	h.must(h.c.Status().Patch(h.t.Context(), h.get("Pier", pier), merge))
}

// expectReady waits until the condition Ready of an object has a message.
func (h *harbour) expectReady(kind, name, want string) {
	h.t.Helper()
	testenv.Eventually(h.t, func() error {
		list, _, err := unstructured.NestedSlice(h.get(kind, name).Object, "status", "conditions")
		if err != nil || len(list) != 1 {
			return fmt.Errorf("%s %s has the conditions %v, %w", kind, name, list, err)
		}
		if got := list[0].(map[string]any)["message"]; got != want {
			return fmt.Errorf("%s %s: %q, want %q", kind, name, got, want)
		}
		return nil
	})
}

// expectGone waits until an object is gone.
func (h *harbour) expectGone(kind, name string) {
	h.t.Helper()
	testenv.Eventually(h.t, func() error {
		if u := h.get(kind, name); u != nil {
			return fmt.Errorf("%s %s is there, with finalizers %v", kind, name, u.GetFinalizers())
		}
		return nil
	})
}

// passes returns how many passes there were over Ships.
func (h *harbour) passes() (total float64) {
	h.t.Helper()
	families, err := metrics.Registry.Gather()
	h.must(err)
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "harbour.example/ship" {
					total += m.GetCounter().GetValue()
				}
			}
		}
	}
	return total
}

const ready = "All references are ready"

// TestToy: the operator of docs/library.md gets all that DESIGN derives from a relation, also for
// a kind that is installed after its start.
func TestToy(t *testing.T) {
	h := startHarbour(t)
	h.apply("Ship", "anna", "pierRef: north", "lighthouseRef: cape", "fleetRef: red")
	h.apply("Ship", "berta", "pierRef: south", "fleetRef: red")
	h.expectReady("Ship", "anna", "Waiting for Pier/north to be created; Waiting for Lighthouse/cape to be created: "+
		"the kind Lighthouse.harbour.example is not installed; Waiting for Fleet/red to be created")
	red := h.apply("Fleet", "red")
	h.apply("Pier", "north")
	h.apply("Pier", "south")
	h.serve("south")
	h.expectReady("Ship", "berta", ready)
	h.expectReady("Ship", "anna", "Waiting for Pier/north to be ready; Waiting for Lighthouse/cape to be created: "+
		"the kind Lighthouse.harbour.example is not installed")

	testenv.ApplyFile(t, "../../examples/library/lighthouse.yaml") // The kind is installed only now.
	h.expectReady("Ship", "anna", "Waiting for Pier/north to be ready; Waiting for Lighthouse/cape to be created")
	h.apply("Lighthouse", "cape")
	h.expectReady("Ship", "anna", "Waiting for Pier/north to be ready")
	before := h.passes()
	h.serve("north")
	h.expectReady("Ship", "anna", ready)
	testenv.Eventually(t, func() error { // A pass for the Pier, and a pass for the created papers.
		if n := h.passes() - before; n < 1 || n > 3 {
			return fmt.Errorf("%.0f passes over Ships for a change of one Pier", n)
		}
		return nil
	})

	h.checkReferences(red)
	h.checkBinding()
	h.checkGuard()
	h.checkOwner(red)
}

// checkReferences checks the index, the owner reference, the edge and the row.
func (h *harbour) checkReferences(red *unstructured.Unstructured) {
	h.t.Helper()
	sources := h.engine.Sources(h.id("Pier", "north"), "")
	if diff := cmp.Diff([]object.ID{h.id("Ship", "anna")}, sources); diff != "" {
		h.t.Errorf("sources of Pier north (-want +got):\n%s", diff)
	}
	owner := metav1.GetControllerOf(h.get("Ship", "anna"))
	if owner == nil || owner.UID != red.GetUID() {
		h.t.Errorf("the owner of Ship anna is %v, want Fleet red with uid %s", owner, red.GetUID())
	}
	relations := slices.Concat(library.Ships, library.Flags)
	cluster, err := lineage.New(h.t.Context(), testenv.Config(h.t), lineage.Options{Relations: relations})
	h.must(err)
	pier, err := cluster.Find(h.t.Context(), "pier", "north", h.namespace)
	h.must(err)
	users, err := cluster.Users(h.t.Context(), pier)
	h.must(err)
	if len(users.Users) != 1 || users.Users[0].Declarer != h.id("Ship", "anna") {
		h.t.Errorf("who-uses says of Pier north: %v", users.Users)
	}
	row := []string{"ship-fleet", "Owner", "Ship.harbour.example", "A Ship is deleted with its Fleet."}
	if diff := cmp.Diff(row, library.Ships[2].Row()); diff != "" {
		h.t.Errorf("row (-want +got):\n%s", diff)
	}
}

// checkBinding checks that a Flag finds its Ship by a path that only the Flag knows.
func (h *harbour) checkBinding() {
	h.t.Helper()
	h.apply("Flag", "old", "path: spec.onShip", "onShip: anna", "shipRef: berta", "colour: blue")
	h.expectReady("Flag", "old", ready)
	for ship, want := range map[string]string{"anna": "blue", "berta": ""} {
		if got := h.get("Ship", ship).GetAnnotations()["harbour.example/flag"]; got != want {
			h.t.Errorf("Ship %s has the flag %q, want %q", ship, got, want)
		}
	}
}

// checkGuard checks that a Pier stays for its Ship, and goes when the Ship names another Pier.
func (h *harbour) checkGuard() {
	h.t.Helper()
	h.must(h.c.Delete(h.t.Context(), h.get("Pier", "north")))
	if u := h.get("Pier", "north"); u == nil || !slices.Equal(u.GetFinalizers(), []string{"harbour.example/ship"}) {
		h.t.Fatalf("Pier north is not guarded: %v", u)
	}
	h.apply("Ship", "anna", "pierRef: south", "lighthouseRef: cape", "fleetRef: red")
	h.expectGone("Pier", "north")
	h.must(h.c.Delete(h.t.Context(), h.get("Pier", "south")))
	h.must(h.c.Delete(h.t.Context(), h.get("Ship", "berta")))
	h.expectGone("Ship", "berta")
	if h.get("Pier", "south") == nil {
		h.t.Fatal("Pier south is gone before Ship anna, which names it now")
	}
}

// checkOwner checks that a Fleet that was created anew does not own the Ships of the former
// Fleet: the garbage collector deletes these Ships.
func (h *harbour) checkOwner(red *unstructured.Unstructured) {
	h.t.Helper()
	stay := `{"metadata":{"finalizers":["test.example/stay"]}}`
	h.must(h.c.Patch(h.t.Context(), h.get("Ship", "anna"), client.RawPatch("application/merge-patch+json", []byte(stay))))
	h.must(h.c.Delete(h.t.Context(), red))
	h.expectGone("Fleet", "red")
	h.apply("Fleet", "red")
	testenv.Eventually(h.t, func() error {
		anna := h.get("Ship", "anna")
		if owner := metav1.GetControllerOf(anna); owner == nil || owner.UID != red.GetUID() {
			h.t.Fatalf("the owner of Ship anna was changed to %v", owner)
		}
		if anna.GetDeletionTimestamp() == nil {
			return fmt.Errorf("the garbage collector has not deleted Ship anna")
		}
		return nil
	})
	h.must(h.c.Patch(h.t.Context(), h.get("Ship", "anna"),
		client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	h.expectGone("Ship", "anna")
	h.expectGone("Pier", "south") // Its last Ship is gone.
}

// TestLibraryPage: the page shows the file that the other tests run, which has at most sixty lines
// of code.
func TestLibraryPage(t *testing.T) {
	code, err := os.ReadFile("../../examples/library/operator.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```go\n"+string(code)+"```\n") {
		t.Error("docs/library.md differs from examples/library/operator.go")
	}
	_, body, _ := strings.Cut(string(code), "\n)\n") // Behind the imports.
	lines := 0
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "type ") {
			lines++
		}
	}
	if lines > 60 {
		t.Errorf("%d lines of code", lines)
	}
}
