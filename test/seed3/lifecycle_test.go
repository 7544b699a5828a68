package seed3

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/story"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// TestOwnerReference is "Owner references": "We want the Usage to be deleted when
// the using resource is deleted. This will be achieved by adding an owner
// reference".
func TestOwnerReference(t *testing.T) {
	w := newWorld(t)
	_, chart, _, _ := w.stage()
	usage := w.read("named")[0]
	w.apply(usage)
	w.ready(usage)
	want := []metav1.OwnerReference{{
		APIVersion: "helm.crossplane.io/v1beta1", Kind: "Release", Name: "my-prometheus-chart", UID: chart.GetUID(),
	}}
	if diff := cmp.Diff(want, w.usage(usage).OwnerReferences); diff != "" {
		t.Errorf("owners of the Usage (-want +got):\n%s", diff)
	}
	w.delete(chart)
	w.gone(usage)
}

// TestInUseLabel is "Adding/removing crossplane.io/in-use: true label": the label is added when
// there is a Usage, and removed when "no other Usage resources reference the same used
// resource".
func TestInUseLabel(t *testing.T) {
	w := newWorld(t)
	cluster, chart, release, _ := w.stage()
	if w.locked(cluster) {
		t.Fatal("the label is there before the Usage")
	}
	first, second := w.read("named")[0], w.read("named")[0]
	second.SetName("another-release-uses-cluster")
	if err := setField(second, "my-release", "spec", "by", "resourceRef", "name"); err != nil {
		t.Fatal(err)
	}
	w.apply(first, second)
	w.ready(first)
	w.ready(second)
	if !w.locked(cluster) {
		t.Fatal("the label is missing while there are two Usages")
	}
	w.delete(chart)
	w.gone(chart, first)
	if !w.locked(cluster) {
		t.Fatal("the label went with the first of two Usages")
	}
	w.refused(cluster,
		"The resource is used by 1 resource(s): Release/my-release (Usage another-release-uses-cluster).")
	w.delete(release)
	w.gone(release, second)
	if w.locked(cluster) {
		t.Error("the label is still there after the last Usage")
	}
	if diff := cmp.Diff(map[string]string{"foo": "bar"}, w.get(cluster).GetLabels()); diff != "" {
		t.Errorf("labels of the used object (-want +got):\n%s", diff)
	}
}

// TestPreventingEarlyDeletion is the section of that name: a composed Usage which
// gets the delete request stays "until the using resource is deleted".
func TestPreventingEarlyDeletion(t *testing.T) {
	w := newWorld(t)
	platform, eks, services, usage := w.platform()
	w.hold(services)
	w.delete(usage)
	testenv.Eventually(t, func() error {
		ready, err := conditionOf(w.get(usage), "Ready")
		if err != nil {
			return err
		}
		if ready.Reason != "WaitingUsingDeleted" {
			return fmt.Errorf("Ready says %s: %s", ready.Reason, ready.Message)
		}
		return nil
	})
	w.refused(eks, usedByServices)
	w.delete(services)
	w.refused(eks, usedByServices)
	if err := w.drop(t.Context(), w.get(services)); err != nil {
		t.Fatal(err)
	}
	w.gone(services, usage)
	w.delete(eks)
	w.delete(platform)
}

const usedByServices = "The resource is used by 1 resource(s): XServices/my-platform-services " +
	"(Usage xservices-uses-xeks)."

// platform applies the composition of the seed and waits until it is protected.
func (w *world) platform() (platform, eks, services, usage object) {
	w.Helper()
	all := w.read("composition")
	w.apply(all[0])
	story.Compose(all[0], all[1:]...)
	w.apply(all[1:]...)
	w.ready(all[3])
	return all[0], all[1], all[2], all[3]
}

// TestXServicesUsesXEKS is the composition: the Usage finds the composed objects
// of its own composite, and a composite can't be deleted directly while in use.
func TestXServicesUsesXEKS(t *testing.T) {
	w := newWorld(t)
	_, eks, services, usage := w.platform()
	spec := w.usage(usage).Spec
	want := []string{eks.GetName(), services.GetName()}
	if diff := cmp.Diff(want, []string{spec.Of.ResourceRef.Name, spec.By.ResourceRef.Name}); diff != "" {
		t.Errorf("resolved to (-want +got):\n%s", diff)
	}
	w.refused(eks, usedByServices)
}

// TestDeletingACompositeInBackground is "With the (default) background propagation
// policy": without any error, immediately, and the garbage collector does the
// rest, in order.
func TestDeletingACompositeInBackground(t *testing.T) {
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprintf("slow=%t", slow), func(t *testing.T) {
			w := newWorld(t)
			platform, eks, services, usage := w.platform()
			if slow {
				w.hold(services)
			}
			order := w.order(services, eks, usage)
			w.delete(platform, client.PropagationPolicy(metav1.DeletePropagationBackground))
			if w.get(platform) != nil {
				t.Error("the composite was not deleted immediately")
			}
			if slow {
				w.tearDown(services, eks)
			}
			w.before(services, eks, order())
			w.gone(eks, services, usage)
		})
	}
}

// TestDeletingACompositeInForeground is "With the foreground propagation policy": without any
// error, and "the deletion of the Composite will be blocked until all Composed Resources are
// deleted". The Usage itself may be deleted a moment later: the using object is another owner
// of the Usage, so the garbage collector removes the composite from its owners while the using
// object exists.
func TestDeletingACompositeInForeground(t *testing.T) {
	for _, slow := range []bool{false, true} {
		t.Run(fmt.Sprintf("slow=%t", slow), func(t *testing.T) {
			w := newWorld(t)
			platform, eks, services, usage := w.platform()
			if slow {
				w.hold(services)
			}
			order := w.order(services, eks, platform)
			w.delete(platform, client.PropagationPolicy(metav1.DeletePropagationForeground))
			if slow {
				if w.get(platform) == nil {
					t.Error("the composite went before what it composed")
				}
				w.tearDown(services, eks)
			}
			went := order()
			w.before(services, eks, went)
			if last := went[len(went)-1]; last != story.ID(platform) {
				t.Errorf("they went in the order %v: the composite must be last", went)
			}
			w.gone(usage)
		})
	}
}

// tearDown waits until the garbage collector has begun to delete the services, checks that
// their cluster is whole, and releases the services.
func (w *world) tearDown(services, eks object) {
	w.Helper()
	testenv.Eventually(w, func() error {
		if live := w.get(services); live == nil || live.GetDeletionTimestamp() == nil {
			return errors.New("the services are not being deleted")
		}
		return nil
	})
	if live := w.get(eks); live == nil || live.GetDeletionTimestamp() != nil {
		w.Error("the cluster was deleted while services still run on it")
	}
	if err := w.drop(w.Context(), w.get(services)); err != nil {
		w.Fatal(err)
	}
}

// before checks that one object was deleted before another.
func (w *world) before(first, second object, went []string) {
	w.Helper()
	if slices.Index(went, story.ID(first)) > slices.Index(went, story.ID(second)) {
		w.Errorf("they went in the order %v: %s must go before %s", went, story.ID(first), story.ID(second))
	}
}

// TestDirectlyDeletingAResourceThatIsInUse is the section of that name: the
// message names the user; "the user can then delete the Release resource and then
// delete the [...] managed resource again".
func TestDirectlyDeletingAResourceThatIsInUse(t *testing.T) {
	w := newWorld(t)
	cluster, _, release, _ := w.stage()
	usage := w.read("selectors")[0]
	w.compose("my-platform", cluster, release, usage)
	w.apply(cluster, release, usage)
	w.ready(usage)
	for _, policy := range []metav1.DeletionPropagation{
		metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan,
	} {
		if err := w.client.Delete(t.Context(), blank(cluster), client.PropagationPolicy(policy)); err == nil {
			t.Fatalf("the deletion with policy %s was accepted", policy)
		}
	}
	w.refused(cluster, usedByRelease)
	if live := w.get(cluster); live.GetDeletionTimestamp() != nil {
		t.Error("the refused deletion left a mark")
	}
	w.delete(release)
	testenv.Eventually(t, func() error { return w.client.Delete(t.Context(), blank(cluster)) })
	w.gone(cluster)
}
