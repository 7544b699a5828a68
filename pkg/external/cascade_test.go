package external

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// toyGuard is the finalizer by which a Sailor guards a Boat.
const toyGuard = "toys.example.org/in-use"

// fleetKind returns the Kind of a kind of the fleet: a Fleet owns Boats (spec.fleetRef), and a Sailor
// refers to a Boat (spec.boatRef).
func fleetKind(name, address string) Kind[*Unstructured, string] {
	k := toyKind(name, address)
	k.Cascades, k.Within = true, func(_, other string) bool { return other == "blue-first" }
	edge := func(role relation.Role, field, target string) relation.Extractor {
		return relation.Typed(func(u *Unstructured, _ relation.Kinds) []relation.Edge {
			to, _, _ := unstructured.NestedString(u.Object, "spec", field)
			if to == "" {
				return nil
			}
			source := object.Of(u, k.GVK.GroupKind())
			return []relation.Edge{{
				Role: role, Declarer: source, Source: relation.Named(source), Field: "spec." + field,
				Target: relation.Named(object.ID{Group: toyGroup.Group, Kind: target, Namespace: source.Namespace, Name: to}),
			}}
		})
	}
	switch name {
	case "Boat":
		k.Relations = []relation.Relation{{
			Name: "boat-fleet", Role: relation.Owner, Declarer: k.GVK.GroupKind(),
			Extract: edge(relation.Owner, "fleetRef", "Fleet"),
		}}
	case "Sailor":
		k.Relations = []relation.Relation{{
			Name: "sailor-boat", Role: relation.Dependency, Declarer: k.GVK.GroupKind(), Finalizer: toyGuard,
			Extract: edge(relation.Dependency, "boatRef", "Boat"),
		}}
	}
	return k
}

// sail runs an operator that adds the kinds of the fleet when their definitions are installed
// ([Options.Discover]).
func (w *train) sail() (stop func()) {
	w.t.Helper()
	w.health = &watch.Health{}
	factory := &watch.Factory{Scheme: runtime.NewScheme(), Health: w.health}
	rest := testenv.Config(w.t)
	mgr, err := ctrl.NewManager(rest, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"}, Cache: cache.Options{NewInformer: factory.New},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	w.must(err)
	found, err := discovery.NewDiscoveryClientForConfig(rest)
	w.must(err)
	var e *Engine
	e = New(mgr, Options{
		Group: toyGroup.Group, Finalizer: toyGroup.Group + "/thing", Noun: "thing", Cloud: "the toy cloud", Live: w.c,
		Summary: true, Specific: true, Pooled: true,
		OwnerLabels: toyGroup.Group, Guards: []string{toyGuard}, Health: w.health,
		Catalog: watch.NewCatalog(discovery.ToDiscoveryInterfaceWithContext(found), nil),
		Discover: func(served watch.Mapping) {
			if served.Resource.Group == toyGroup.Group && slices.Contains([]string{"Fleet", "Boat", "Sailor"}, served.Kind) {
				Add(e, fleetKind(served.Kind, w.url))
			}
		},
	})
	ctx, cancel := context.WithCancel(w.t.Context())
	w.must(e.Start(ctx))
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	return func() {
		cancel()
		w.must(<-ended)
	}
}

// says waits until the condition Ready of an object has the wanted status, reason and message.
func (w *train) says(kind, name, want string) {
	w.t.Helper()
	testenv.Eventually(w.t, func() error {
		u, err := w.get(kind, name)
		if err != nil {
			return err
		}
		c := meta.FindStatusCondition(u.GetExternalStatus().Conditions, "Ready")
		if c == nil || fmt.Sprintf("%s %s %s", c.Status, c.Reason, c.Message) != want {
			return fmt.Errorf("%s %s: %+v, want %q", kind, name, c, want)
		}
		return nil
	})
}

// install installs the definition of a kind.
func (w *train) install(kind string) {
	w.t.Helper()
	testenv.Apply(w.t, fmt.Sprintf(toyDefinition, strings.ToLower(kind), kind))
}

// changes returns the requests since the last call that changed the cloud, and the reads of the thing with
// the given name.
func (w *train) changes(read string) []string {
	all := []string{}
	w.cloud.change(func(c *toyCloud) {
		for _, call := range c.calls {
			if !strings.HasPrefix(call, "GET") || call == "GET /things/"+read {
				all = append(all, call)
			}
		}
		c.calls = nil
	})
	return all
}

// TestInstalledLater: a kind is served when its definition is installed. Objects wait for kinds without a
// definition. The watch of a kind ends when its definition is deleted.
func TestInstalledLater(t *testing.T) {
	w := newTrain(t)
	defer w.sail()()
	w.install("Sailor")
	w.apply("Sailor", "jack", "{boatRef: argo}")
	w.says("Sailor", "jack", "False WaitingForReference Waiting for Boat/argo to be created: "+
		"the kind Boat.toys.example.org is not installed")
	w.install("Boat")
	w.apply("Boat", "argo", "{fleetRef: first}")
	w.says("Boat", "argo", "False WaitingForOwner Waiting for Fleet/first to be created: "+
		"the kind Fleet.toys.example.org is not installed")
	w.says("Sailor", "jack", "False WaitingForReference Waiting for Boat/argo to be ready")
	w.install("Fleet")
	w.apply("Fleet", "first", "{}")
	for _, one := range []string{"Fleet first", "Boat argo", "Sailor jack"} {
		kind, name, _ := strings.Cut(one, " ")
		w.says(kind, name, "True Success thing is available")
	}
	fleet, err := w.get("Fleet", "first")
	w.must(err)
	boat, err := w.get("Boat", "argo")
	w.must(err)
	labels := map[string]string{
		"toys.example.org/owner-kind": "Fleet", "toys.example.org/owner-name": "first",
		"toys.example.org/owner-uid": string(fleet.GetUID()),
	}
	if diff := cmp.Diff(labels, boat.GetLabels()); diff != "" {
		t.Errorf("labels of the Boat (-want +got):\n%s", diff)
	}
	w.cascade()
	w.remove("sailors")
	testenv.Eventually(t, w.health.Err)
	w.install("Sailor")
	w.apply("Sailor", "jim", "{}")
	w.says("Sailor", "jim", "True Success thing is available")
	w.delete("Sailor", "jim")
	w.gone("Sailor", "jim")
}

// remove deletes the definition of a kind, and waits for its end.
func (w *train) remove(plural string) {
	w.t.Helper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	})
	crd.SetName(plural + ".toys.example.org")
	w.must(w.c.Delete(w.t.Context(), crd))
	testenv.Eventually(w.t, func() error {
		err := w.c.Get(w.t.Context(), client.ObjectKeyFromObject(crd), crd)
		if err == nil {
			return fmt.Errorf("%s is there", crd.GetName())
		}
		return client.IgnoreNotFound(err)
	})
}

// cascade deletes a Fleet with a Boat to which a Sailor refers. The Fleet waits for the Sailor
// (awaitUsersOfOwned), and a single request deletes the Fleet and the Boat.
func (w *train) cascade() {
	w.t.Helper()
	w.cloud.change(func(c *toyCloud) { c.takes = map[string][]string{"blue-first": {"blue-argo"}} })
	w.changes("")
	w.delete("Boat", "argo")
	w.says("Boat", "argo", "False InUse Waiting for Sailor/jack to be deleted: it holds finalizer toys.example.org/in-use")
	w.delete("Fleet", "first")
	w.says("Fleet", "first", "False InUse Waiting for Sailor/jack to be deleted: it refers to Boat/argo")
	w.delete("Sailor", "jack")
	w.gone("Sailor", "jack")
	w.gone("Fleet", "first")
	w.gone("Boat", "argo")
	want := []string{"DELETE /things/blue-jack", "DELETE /things/blue-first"}
	if diff := cmp.Diff(want, w.changes("blue-argo")); diff != "" {
		w.t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestUnseenDeletion: an object does not call Actuator.Delete after its owner was deleted, even if the watch
// of the owner's kind is late to report the deletion or the end of the owner. An operator without the right
// to get the owner calls Actuator.Delete.
func TestUnseenDeletion(t *testing.T) {
	w := newOwnedWorld(t)
	w.r.kind.Cascades = true
	attach(w.r, w.store)
	w.create("owner", "in", "blind")
	w.pass("owner", "in", "blind")
	w.cloud.change(func(c *toyCloud) { c.calls = nil })
	w.must(w.c.Delete(t.Context(), w.read("owner"))) // The watch has not reported the deletion.
	w.delete("in", "blind")
	w.passIn("in", taking)
	w.expect("deleted", states{"in": "blue-in"})

	owner := w.read("owner")
	owner.Finalizers = nil
	w.must(w.c.Update(t.Context(), owner))
	w.passIn("in", taking)
	w.expect("ended", states{"in": "blue-in"})

	w.r.engine.Live = &blind{w.c}
	w.pass("blind")
	w.expect("without the right to get", states{"blind": "gone"}, "DELETE /things/blue-blind")
}

// blind may not get objects.
type blind struct{ client.Client }

func (blind) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return apierrors.NewForbidden(networks.GroupVersion().WithResource("networks").GroupResource(), "", nil)
}

// TestForegroundDeletion: with foreground deletion, an owned object does not wait for its owner
// (takesAlong).
func TestForegroundDeletion(t *testing.T) {
	w := newTrain(t)
	w.install("Fleet")
	w.install("Boat")
	defer w.sail()()
	w.apply("Fleet", "second", "{}")
	w.apply("Boat", "dory", "{fleetRef: second}")
	w.says("Boat", "dory", "True Success thing is available")
	fleet, err := w.get("Fleet", "second")
	w.must(err)
	w.must(w.c.Delete(t.Context(), fleet, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	w.delete("Boat", "dory")
	w.gone("Boat", "dory")
	w.cloud.change(func(c *toyCloud) {
		if c.things["blue-dory"] != nil || c.things["blue-second"] == nil {
			t.Errorf("things: %v", c.things)
		}
	})
}

// TestOthers: awaitFinalizers names a single source of a guard, and keeps the choice while the source
// refers to the object. The choice is in memory.named, and not in the text of the condition, which a user
// may write.
func TestOthers(t *testing.T) {
	r, _ := newReconciler()
	addSubnets(r.engine)
	p := newPass()
	p.id = used
	p.Object.Finalizers = []string{held}
	holds := func(names ...string) {
		for _, name := range []string{"a", "b", "c"} {
			subnet := &openstackv1alpha1.Subnet{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"}}
			change := watch.Change[client.Object]{Old: subnet}
			if slices.Contains(names, name) {
				change = watch.Change[client.Object]{New: subnet}
			}
			r.engine.core.Observe(subnets.GroupKind(), change)
		}
	}
	expect := func(reason, name string) {
		t.Helper()
		message := r.awaitFinalizers(t.Context(), p).Message()
		want := "Waiting for Subnet/" + name + " to be deleted: it holds finalizer " + held
		if message != want {
			t.Errorf("%s: %q, want %q", reason, message, want)
		}
		p.Object.Status.Conditions = []metav1.Condition{{Type: condition.Progressing, Message: message}}
	}
	holds("b", "c")
	p.Object.Status.Conditions = []metav1.Condition{{
		Type: condition.Progressing, Message: "A user wrote: Waiting for Subnet/c to be deleted",
	}}
	expect("only what it said itself counts", "b")
	holds("a", "b", "c")
	expect("one more holds it", "b")
	holds("a", "c")
	expect("the one named is gone", "a")
}

func resultOf(t *testing.T, o reconcile.Outcome) ctrl.Result {
	t.Helper()
	result, err := o.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}
