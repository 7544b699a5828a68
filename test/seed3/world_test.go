package seed3

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/examples"
	"github.com/kinship-dev/kinship/internal/story"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

func TestMain(m *testing.M) {
	operator.Packs("usage")
	testenv.Main(m, testenv.WithoutPods(), testenv.CheckLeaks(),
		testenv.CRDs("../../config/crd", "../../examples/usage/definitions.yaml"))
}

// inUse is the label of the seed.
const inUse = "crossplane.io/in-use"

// object is any object, of whatever kind.
type object = *unstructured.Unstructured

// world is the cluster of one test.
type world struct {
	*testing.T
	client  client.WithWatch
	applied []object
}

// newWorld starts an operator. The manifests name cluster-scoped objects, so only one test at a
// time has them, and leaves none behind.
func newWorld(t *testing.T) *world {
	t.Helper()
	operator.Start(t)
	return joinWorld(t)
}

// joinWorld is for a test whose parent has started an operator.
func joinWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, client: operator.Client(t)}
	t.Cleanup(w.clear)
	return w
}

// read returns the objects of an example.
func (w *world) read(file string) []object {
	w.Helper()
	objects, err := story.Read(examples.Usage, "usage/"+file+".yaml")
	if err != nil {
		w.Fatal(err)
	}
	return objects
}

// apply applies objects and updates them from the answers. They are deleted after the test.
func (w *world) apply(objects ...object) {
	w.Helper()
	for _, o := range objects {
		err := w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(o),
			client.FieldOwner("seed3"), client.ForceOwnership)
		if err != nil {
			w.Fatalf("apply %s: %v", story.ID(o), err)
		}
		w.applied = append(w.applied, o)
	}
}

// stage applies the objects that the seed's manifests name, and returns them.
func (w *world) stage() (cluster, chart, release, database object) {
	w.Helper()
	all := w.read("objects")
	w.apply(all...)
	return all[0], all[1], all[2], all[3]
}

// clear deletes everything at once, because one object may wait for another. The test's own
// context has ended by then.
func (w *world) clear() {
	w.Helper()
	ctx := context.WithoutCancel(w.Context())
	err := within(func() error {
		var left error
		for _, o := range w.applied {
			left = errors.Join(left, w.remove(ctx, o))
		}
		return left
	})
	if err != nil {
		w.Errorf("clean up: %v", err)
	}
}

// remove deletes an object, and returns an error until it is gone.
func (w *world) remove(ctx context.Context, o object) error {
	live := blank(o)
	if err := w.client.Get(ctx, client.ObjectKeyFromObject(o), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	return errors.Join(fmt.Errorf("%s is still there", story.ID(o)), w.drop(ctx, live), w.client.Delete(ctx, live))
}

// teardown is the finalizer of a provider that takes its time.
const teardown = "test.kinship.dev/teardown"

// hold keeps a deleted object until drop.
func (w *world) hold(o object) {
	w.Helper()
	w.patch(o, `{"metadata":{"finalizers":["`+teardown+`"]}}`)
}

func (w *world) drop(ctx context.Context, live object) error {
	for i, f := range live.GetFinalizers() {
		if f == teardown {
			patch := fmt.Sprintf(`[{"op":"test","path":"/metadata/finalizers/%[1]d","value":%[2]q},`+
				`{"op":"remove","path":"/metadata/finalizers/%[1]d"}]`, i, teardown)
			return client.IgnoreNotFound(w.client.Patch(ctx, live, jsonPatch(patch)))
		}
	}
	return nil
}

func (w *world) patch(o object, merge string) {
	w.Helper()
	if err := w.client.Patch(w.Context(), o, mergePatch(merge)); err != nil {
		w.Fatalf("patch %s: %v", story.ID(o), err)
	}
}

// get returns an object from the API server, or nil.
func (w *world) get(o object) object {
	w.Helper()
	live := blank(o)
	err := w.client.Get(w.Context(), client.ObjectKeyFromObject(o), live)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatalf("get %s: %v", story.ID(o), err)
	}
	return live
}

// usage returns a Usage of the seed's kind from the API server.
func (w *world) usage(o object) *usagev1alpha1.Usage {
	w.Helper()
	u := &usagev1alpha1.Usage{}
	if err := w.client.Get(w.Context(), client.ObjectKeyFromObject(o), u); err != nil {
		w.Fatalf("get %s: %v", story.ID(o), err)
	}
	return u
}

// ready awaits that a Usage is Ready and Effective for its present spec.
func (w *world) ready(o object) {
	w.Helper()
	testenv.Eventually(w, func() error {
		live := w.get(o)
		if live == nil {
			return fmt.Errorf("%s is gone", story.ID(o))
		}
		for _, name := range []string{"Ready", "Effective"} {
			if err := isTrue(live, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// isTrue returns an error unless a condition holds.
func isTrue(live object, name string) error {
	c, err := conditionOf(live, name)
	if err != nil {
		return err
	}
	if c.Status != metav1.ConditionTrue || c.ObservedGeneration != live.GetGeneration() {
		return fmt.Errorf("%s of %s is %s (%s: %s) for generation %d of %d", name, story.ID(live),
			c.Status, c.Reason, c.Message, c.ObservedGeneration, live.GetGeneration())
	}
	return nil
}

func conditionOf(live object, name string) (*metav1.Condition, error) {
	items, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
	if err != nil {
		return nil, err
	}
	var conditions []metav1.Condition
	for _, item := range items {
		var c metav1.Condition
		if err := fromUnstructured(item, &c); err != nil {
			return nil, err
		}
		conditions = append(conditions, c)
	}
	if c := meta.FindStatusCondition(conditions, name); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("%s has no condition %s", story.ID(live), name)
}

// locked reports whether an object carries the label.
func (w *world) locked(o object) bool {
	w.Helper()
	live := w.get(o)
	return live != nil && live.GetLabels()[inUse] == "true"
}

// refused tries to delete an object and expects 409 with a message.
func (w *world) refused(o object, message string) {
	w.Helper()
	err := w.client.Delete(w.Context(), blank(o))
	var status apierrors.APIStatus
	switch {
	case err == nil:
		w.Fatalf("%s was deleted, want the answer %q", story.ID(o), message)
	case !errors.As(err, &status) || status.Status().Code != 409:
		w.Fatalf("deletion of %s was answered with %v, want 409", story.ID(o), err)
	case !strings.Contains(err.Error(), `denied the request: `+message): // More may follow, of a replay.
		w.Errorf("deletion of %s was answered with\n%v, want\n%s", story.ID(o), err, message)
	}
}

// delete deletes an object, which must be allowed.
func (w *world) delete(o object, options ...client.DeleteOption) {
	w.Helper()
	if err := w.client.Delete(w.Context(), blank(o), options...); err != nil {
		w.Fatalf("delete %s: %v", story.ID(o), err)
	}
}

// gone awaits that objects are gone.
func (w *world) gone(objects ...object) {
	w.Helper()
	for _, o := range objects {
		testenv.Eventually(w, func() error {
			if live := w.get(o); live != nil {
				return fmt.Errorf("%s is there: deleted %v, finalizers %v, owners %v",
					story.ID(o), live.GetDeletionTimestamp(), live.GetFinalizers(), live.GetOwnerReferences())
			}
			return nil
		})
	}
}

// order watches the kinds of objects, and returns a function that waits for the deletion of all
// of them and returns their order.
func (w *world) order(objects ...object) func() []string {
	w.Helper()
	events := make([]<-chan watch.Event, 0, len(objects))
	for _, o := range objects {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(o.GetAPIVersion())
		list.SetKind(o.GetKind() + "List")
		watcher, err := w.client.Watch(w.Context(), list, client.MatchingFields{"metadata.name": o.GetName()})
		if err != nil {
			w.Fatalf("watch %s: %v", story.ID(o), err)
		}
		w.Cleanup(watcher.Stop)
		events = append(events, watcher.ResultChan())
	}
	return func() []string {
		w.Helper()
		return endings(w, objects, events)
	}
}
