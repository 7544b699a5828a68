package openstack_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/cloud/openstack/emulator"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// here is the namespace in manifests, for IDs that users choose. An ID that another object has,
// in any cloud, is not taken for the result of an attempt.
const here = "NAMESPACE"

// stacks are the objects of TestKilled: together, objects of all kinds but
// ApplicationCredential, which can't be created twice for one user in all these clouds.
var stacks = map[string][]string{
	"network": stack,
	"shared":  {managed("Router", "router", "{}"), net, routed, interfaceOf("it", "routed", ""), interfaceOf("other", "routed", "")},
	"server": {
		managed("Server", "server", `{flavorRef: flavor, bootVolume: {volumeRef: boot}, ports: [{portRef: port}],
  volumes: [{volumeRef: disk}], keypairRef: key, tags: [t]}`),
		managed("Volume", "boot", "{size: 1, imageRef: image}"), blank("disk"), plug("port"), sub, net, flavor,
		managed("KeyPair", "key", fmt.Sprintf("{name: %s, publicKey: %q}", here, publicKey)), managed("Image", "image", images[0].minimal),
	},
	"identity": {
		managed("User", "user", "{domainRef: domain, defaultProjectRef: project}"),
		managed("Project", "project", "{domainRef: domain, tags: [t]}"), managed("Domain", "domain", "{}"),
		managed("RoleAssignment", "grant", "{roleRef: role, groupRef: group, projectRef: project}"),
		managed("Role", "role", "{domainRef: domain}"), managed("Group", "group", "{domainRef: domain}"),
		managed("Endpoint", "endpoint", "{interface: public, url: 'http://example.com', serviceRef: service}"),
		managed("Service", "service", "{type: some}"),
	},
	"rest": {
		managed("Trunk", "trunk", "{portRef: parent, subports: [{portRef: child, segmentationID: 7, segmentationType: vlan}]}"),
		managed("Port", "parent", "{networkRef: net}"), managed("Port", "child", "{networkRef: net}"), net,
		managed("AddressScope", "scope", "{ipVersion: 4}"), managed("ServerGroup", "group", "{policy: affinity}"),
		managed("ShareNetwork", "shares", "{networkRef: net, subnetRef: sub}"), sub,
		managed("VolumeType", "type", "{extraSpecs: [{name: a, value: '1'}]}"),
	},
}

// step is one request of an operator that changes the cloud. A refused request changes nothing,
// and the number of refused requests is random.
type step struct {
	call emulator.Call
	skip int // so many of that sort came before
	// unsent says that the request is not carried out: only the writes before it exist.
	unsent bool
}

// crowded is the time limit with dozens of clouds at once: after a restart, the operator waits
// for unfinished work, with growing pauses.
const crowded = 3 * time.Minute

// applyHere applies a stack.
func (w *world) applyHere(objects []string) {
	w.t.Helper()
	w.apply(strings.ReplaceAll(strings.Join(objects, "\n"), here, w.ns))
}

// steps returns the steps of a cloud.
func (w *world) steps() []step {
	var all []step
	for call, times := range w.cloud.Done() {
		if call.Method == http.MethodGet || strings.HasPrefix(call.Resource, "auth") {
			continue
		}
		for i := range times {
			all = append(all, step{call: call, skip: i})
		}
	}
	slices.SortFunc(all, func(a, b step) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all
}

// cutOff loses the answer of a step, and all later answers of the cloud: the operator is killed
// with it.
func (w *world) cutOff(at step) {
	w.cloud.ResetCalls()
	reset := emulator.AfterExecution
	if at.unsent {
		reset = emulator.BeforeExecution
	}
	w.cloud.AddFault(emulator.Fault{
		Service: at.call.Service, Method: at.call.Method, Resource: at.call.Resource,
		Skip: at.skip, Reset: reset, Last: true,
	})
}

// reached waits until a cloud was cut off.
func (w *world) reached(at step) {
	w.t.Helper()
	testenv.EventuallyWithin(w.t, crowded, func() error {
		calls := w.cloud.Done
		if at.unsent {
			calls = w.cloud.Calls
		}
		if n := calls()[at.call]; n <= at.skip {
			return fmt.Errorf("%d calls of %s, to be cut off after %d; %s; in the cloud: %v; done: %v",
				n, at.call, at.skip+1, w.states(), w.sizes(), w.cloud.Done())
		}
		return nil
	})
}

// sizes counts the resources of a cloud.
func (w *world) sizes() map[string]int {
	counts := map[string]int{}
	for resource, items := range w.cloud.Inventory() {
		counts[resource] = len(items)
	}
	return counts
}

// allAvailable waits until all objects are available in their present generation.
func (w *world) allAvailable() {
	w.t.Helper()
	testenv.EventuallyWithin(w.t, crowded, func() error {
		var missing []string
		for _, obj := range w.all() {
			c := meta.FindStatusCondition(obj.GetExternalStatus().Conditions, "Available")
			if c == nil || c.Status != metav1.ConditionTrue || c.ObservedGeneration != obj.GetGeneration() {
				missing = append(missing, fmt.Sprintf("%T %s: %v", obj, obj.GetName(), conditions(obj)))
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("not ready: %s", strings.Join(missing, "; "))
		}
		return nil
	})
}

// states returns the messages of all objects.
func (w *world) states() string {
	w.t.Helper()
	var all []string
	for _, obj := range w.all() {
		all = append(all, fmt.Sprintf("%T %s %v: %v", obj, obj.GetName(), obj.GetFinalizers(), conditions(obj)))
	}
	return strings.Join(all, "; ")
}

func (w *world) deleteAll() {
	w.t.Helper()
	for _, obj := range w.all() {
		if err := w.c.Delete(w.t.Context(), obj); client.IgnoreNotFound(err) != nil {
			w.t.Fatal(err)
		}
	}
}

// rehearsal is a stack that was created without disturbance: the steps of its creation and of its deletion, and
// the resources in between.
type rehearsal struct {
	*world

	objects        []string
	create, remove []step
	there          map[string]int
}

// rehearse creates and deletes all stacks at the same time.
func rehearse(t *testing.T) map[string]*rehearsal {
	t.Helper()
	all := map[string]*rehearsal{}
	for name, objects := range stacks {
		all[name] = &rehearsal{world: untidyWorld(t), objects: objects}
		all[name].applyHere(objects)
	}
	for _, r := range all {
		r.allAvailable()
		r.create, r.there = r.steps(), r.sizes()
		r.cloud.ResetCalls()
		r.deleteAll()
	}
	for _, r := range all {
		r.tidyUp()
		r.remove = r.steps()
	}
	return all
}

// unsent returns the creating steps as steps that are not carried out.
func unsent(steps []step) []step {
	var all []step
	for _, s := range steps {
		if s.call.Method == http.MethodPost {
			s.unsent = true
			all = append(all, s)
		}
	}
	return all
}

// scene is a world that is cut off.
type scene struct {
	*world

	objects        []string
	create, remove step
	there          map[string]int
}

// TestKilled kills the operator, with SIGKILL, after each request that creates or deletes a
// resource, before its answer arrives, and before some requests are carried out. Each step has
// a world of its own, so that three operators are enough. No resource is created twice, and
// none is left.
func TestKilled(t *testing.T) {
	o := operator.Exec(t, "--packs", "openstack", "--openstack-qps", "1000")
	var scenes []scene
	for name, r := range rehearse(t) {
		if name == "network" {
			r.create = append(r.create, unsent(r.create)...)
		}
		for i := range max(len(r.create), len(r.remove)) {
			w := untidyWorld(t)
			w.patience = crowded
			scenes = append(scenes, scene{w, r.objects, r.create[i%len(r.create)], r.remove[i%len(r.remove)], r.there})
		}
	}
	restart := func() {
		o.Kill()
		for _, s := range scenes {
			s.cloud.ClearFaults()
		}
		o = operator.Exec(t, "--packs", "openstack", "--openstack-qps", "1000")
	}
	for _, s := range scenes {
		s.cutOff(s.create)
		s.applyHere(s.objects)
	}
	for _, s := range scenes {
		s.reached(s.create)
	}
	restart()
	for _, s := range scenes {
		s.allAvailable()
		if diff := cmp.Diff(s.there, s.sizes()); diff != "" {
			t.Errorf("killed after %v: in the cloud (-want +got):\n%s", s.create, diff)
		}
		s.cutOff(s.remove)
		s.deleteAll()
	}
	for _, s := range scenes {
		s.reached(s.remove)
	}
	restart()
	for _, s := range scenes {
		s.tidyUp()
		if left := s.sizes(); len(left) > 0 {
			t.Errorf("killed after %v: left in the cloud: %v", s.remove, left)
		}
	}
}
