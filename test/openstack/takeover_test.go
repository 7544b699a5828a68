package openstack_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/pack/openstack/kit"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// movedStacks are the stacks of TestKilled, and the kinds that they leave out: together,
// objects of all kinds.
func movedStacks() map[string][]string {
	all := maps.Clone(stacks)
	all["secrets"] = []string{
		managed("User", "user", "{passwordRef: password}"), secretOf("password", "one"),
		managed("ApplicationCredential", "credential", credential.minimal),
	}
	all["secrets"] = append(all["secrets"], credential.needs...)
	return all
}

// state is the state that an operator must keep when it takes over.
type state struct {
	Finalizers []string
	ID         any
}

// statesOf returns the state of every object, and of the Secret with the credentials.
func (w *world) statesOf() map[string]state {
	w.t.Helper()
	all := map[string]state{}
	for _, u := range append(w.objects(), w.get("Secret", "cloud")) {
		s := state{Finalizers: slices.Sorted(slices.Values(u.GetFinalizers()))}
		s.ID, _, _ = unstructured.NestedFieldNoCopy(u.Object, "status", "id")
		all[u.GetKind()+"/"+u.GetName()] = s
	}
	return all
}

// objects returns all objects of the world.
func (w *world) objects() []*unstructured.Unstructured {
	w.t.Helper()
	var all []*unstructured.Unstructured
	for _, obj := range w.all() {
		all = append(all, w.get(strings.TrimPrefix(fmt.Sprintf("%T", obj), "*v1alpha1."), obj.GetName()))
	}
	return all
}

// unmark removes the marks of our objects from resources.
func (w *world) unmark() {
	w.t.Helper()
	for _, collection := range []string{"compute/servers", "volume/volumes"} {
		for _, item := range w.cloud.Inventory()[collection] {
			c, address := w.address(collection, item.ID)
			if err := kit.Call(w.t.Context(), c, http.MethodDelete, address+"/metadata/kinship-uid", nil, nil); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// TestTakeover starts this operator in place of the published operator, with objects of all
// kinds as that operator leaves them.
func TestTakeover(t *testing.T) {
	first := operator.Start(t, only)
	worlds := map[string]*world{}
	for name, objects := range movedStacks() {
		cloud := operator.Cloud(t, emulator.Options{})
		worlds[name] = worldOf(t, cloud.CloudsYAML(), cloud)
		worlds[name].applyHere(objects)
	}
	for _, w := range worlds {
		w.allAvailable()
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	before := map[string]map[string]state{}
	inCloud := map[string]map[string][]emulator.Item{}
	all := slices.Collect(maps.Values(worlds))
	redefine(t, all, asTheirs)
	for _, w := range all {
		w.unmark()
		w.writtenByPublished()
	}
	redefine(t, all, ourDefinition)
	for name, w := range worlds {
		before[name], inCloud[name] = w.statesOf(), w.cloud.Inventory()
		w.cloud.ResetCalls()
	}
	cloud := operator.Cloud(t, emulator.Options{})
	begun := worldOf(t, cloud.CloudsYAML(), cloud)
	begun.beginAs()
	operator.Start(t, only)
	t.Run("what is begun", func(t *testing.T) {
		begun.t = t
		begun.finishes()
	})
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			inner := *w
			inner.t = t
			inner.takenOver(before[name], inCloud[name], expectedChanges[name]...)
			if name == "network" { // The floating IP keeps the connection.
				inner.delete("FloatingIP", "fip")
				inner.gone("FloatingIP", "fip")
				inner.misses("RouterInterface", "sub-subnet")
			}
			inner.vanishes()
		})
	}
}

// expectedChanges are the requests of a takeover that change the cloud: no status of the
// published operator says which version of a Secret a password is from.
var expectedChanges = map[string][]string{"secrets": {"PATCH identity/users"}}

// beginAs leaves objects as the published operator does in the middle of its work: one object
// that it has given up, one that waits for that object, and one that is deleted but still used.
func (w *world) beginAs() {
	w.t.Helper()
	write := func(kind, name, resource string, status map[string]any, finalizers ...string) {
		w.apply(managed(kind, name, resource))
		u := w.get(kind, name)
		w.holdAs(u, controllerOf(kind)+"/finalizer", group+"/"+strings.ToLower(kind))
		w.guardAs(u, finalizers)
		w.reportAs(u, status)
	}
	told := func(available, progressing want, id string) map[string]any {
		var conditions []any
		for i, c := range []want{available, progressing} {
			conditions = append(conditions, map[string]any{
				"type": []string{"Available", "Progressing"}[i], "status": c.status, "reason": c.reason, "message": c.message,
				"observedGeneration": int64(1), "lastTransitionTime": "2026-01-02T03:04:05Z",
			})
		}
		status := map[string]any{"conditions": conditions}
		if id != "" {
			status["id"] = id
		}
		return status
	}
	refused := want{"False", "InvalidConfiguration", "invalid configuration creating resource: quota exceeded"}
	write("Network", "refused", "{}", told(refused, refused, ""))
	waits := waitingFor("Network/refused to be ready")
	unavailable := waits
	unavailable.status = "False"
	write("Subnet", "waiting", "{networkRef: refused, ipVersion: 4, cidr: 10.1.0.0/24}", told(unavailable, waits, ""))
	network := w.post(w.admin(), "networks", `{"network":{"name":"leaving"}}`)
	subnet := w.post(w.admin(), "subnets",
		fmt.Sprintf(`{"subnet":{"name":"staying","network_id":%q,"ip_version":4,"cidr":"10.0.0.0/24"}}`, network))
	write("Network", "leaving", "{}", told(isAvailable, isUpToDate, network), group+"/subnet")
	write("Subnet", "staying", "{networkRef: leaving, ipVersion: 4, cidr: 10.0.0.0/24}",
		told(isAvailable, isUpToDate, subnet))
	w.delete("Network", "leaving")
	w.cloud.ResetCalls()
}

// finishes expects that the work that the published operator has begun is finished.
func (w *world) finishes() {
	w.t.Helper()
	w.available("Network", "refused") // A new operator tries it once.
	w.available("Subnet", "waiting")
	w.has("Network", "leaving", "Progressing", want{
		"True", "Progressing", "Waiting for Subnet/staying to be deleted: it holds finalizer openstack.k-orc.cloud/subnet",
	})
	w.delete("Subnet", "staying")
	w.gone("Subnet", "staying")
	w.gone("Network", "leaving")
	for _, collection := range []string{"networks", "subnets"} {
		if made, deleted := w.requests("POST", collection), w.requests("DELETE", collection); made != 1 || deleted != 1 {
			w.t.Errorf("%d %s were made and %d deleted, want 1 and 1", made, collection, deleted)
		}
	}
	w.tidyUp()
	w.empty()
}

// takenOver expects that no resource was created again or lost, and that later changes work.
func (w *world) takenOver(before map[string]state, inCloud map[string][]emulator.Item, changes ...string) {
	w.t.Helper()
	for _, u := range w.objects() { // Every object is compared with its resource.
		w.edit(u.GetKind(), u.GetName(), `{"spec":{"resyncPeriod":"1h"}}`)
	}
	for _, u := range w.objects() {
		w.has(u.GetKind(), u.GetName(), "Available", isAvailable)
		w.has(u.GetKind(), u.GetName(), "Progressing", isUpToDate)
	}
	if diff := cmp.Diff(before, w.statesOf()); diff != "" {
		w.t.Errorf("objects (-as they were +taken over):\n%s", diff)
	}
	if diff := cmp.Diff(inCloud, w.cloud.Inventory()); diff != "" {
		w.t.Errorf("in the cloud (-as it was +taken over):\n%s", diff)
	}
	var changed []string
	for _, s := range w.steps() {
		if s.call.Method != http.MethodHead {
			changed = append(changed, s.call.String())
		}
	}
	if diff := cmp.Diff(changes, changed); diff != "" {
		w.t.Errorf("requests that change the cloud (-want +got):\n%s", diff)
	}
}

// misses deletes resources in the cloud, which are created again.
func (w *world) misses(kind, name string) {
	w.t.Helper()
	before := w.get(kind, name).GetUID()
	w.delete(kind, name)
	testenv.Eventually(w.t, func() error {
		u := object(kind).(*unstructured.Unstructured)
		if err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, u); err != nil {
			return err
		}
		if u.GetUID() == before {
			return fmt.Errorf("%s/%s is still there", kind, name)
		}
		return nil
	})
	w.available(kind, name)
}

// vanishes deletes the objects of users, and expects that everything is deleted.
func (w *world) vanishes() {
	w.t.Helper()
	all := w.objects()
	for _, u := range all {
		if len(u.GetOwnerReferences()) == 0 {
			w.delete(u.GetKind(), u.GetName())
		}
	}
	for _, u := range all {
		w.gone(u.GetKind(), u.GetName())
	}
	w.empty()
}
