package usage_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	usagev1alpha1 "github.com/kinship-dev/kinship/api/usage/v1alpha1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const lock = "crossplane.io/in-use"

// world is the environment of a test: a namespace, and the rights of an administrator.
type world struct{ testenv.World }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{testenv.NewWorld(t, operator.Client(t))}
	t.Cleanup(w.tidyUp) // The namespace is kept: no Usage may be left for the tests that count.
	return w
}

// alone waits until no Usage of an earlier test is left: tidyUp deletes the Usages of a test, and
// their requests must not be counted.
func (w *world) alone() {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		for group, kinds := range map[string][]string{
			"protection.crossplane.io": {"Usage", "ClusterUsage"}, "apiextensions.crossplane.io": {"Usage"},
		} {
			for _, kind := range kinds {
				left := &metav1.PartialObjectMetadataList{}
				left.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: "v1beta1", Kind: kind + "List"})
				if err := w.C.List(w.T.Context(), left); err != nil {
					return err
				}
				if n := len(left.Items); n > 0 {
					one := &left.Items[0]
					return fmt.Errorf("%d %ss are left, such as %s of %s", n, kind, one.Name, one.Namespace)
				}
			}
		}
		return nil
	})
	w.idle()
}

// idle waits until the operator has seen the deletion of every Usage, and no worker is busy:
// metrics are counted after the write, which other clients may see before.
func (w *world) idle() {
	w.T.Helper()
	testenv.Eventually(w.T, func() error {
		if n := operator.Metrics(w.T, "kinship_usages")[""]; n > 0 {
			return fmt.Errorf("the operator knows %g Usages", n)
		}
		if n := operator.Metrics(w.T, "controller_runtime_active_workers", "controller")["usage"]; n > 0 {
			return fmt.Errorf("%g workers are busy with Usages", n)
		}
		return nil
	})
}

// cleanupContext is that of the test, but does not end before its cleanups.
func (w *world) cleanupContext() context.Context { return context.WithoutCancel(w.T.Context()) }

// tidyUp deletes the Usages of the namespace and waits until nothing protects it.
func (w *world) tidyUp() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.T.Context()), 20*time.Second)
	defer cancel()
	err := w.C.DeleteAllOf(ctx, &protectionv1beta1.Usage{}, client.InNamespace(w.NS))
	if err != nil {
		w.T.Errorf("tidy up: %v", err)
	}
	err = wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var ns corev1.Namespace
		if err := w.C.Get(ctx, client.ObjectKey{Name: w.NS}, &ns); err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
		return ns.Labels[lock] == "", nil
	})
	if err != nil {
		w.T.Errorf("tidy up: namespace %s is still held: %v", w.NS, err)
	}
}

// usage is the common interface of the three kinds.
type usage interface {
	client.Object
	UsageSpec() *sharedv1alpha1.UsageSpec
	UsageStatus() *sharedv1alpha1.UsageStatus
}

// Builders.

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func labelled(name, key, value string) *corev1.ConfigMap {
	cm := configMap(name)
	cm.Labels = map[string]string{key: value}
	return cm
}

// named is the end of a Usage that names one ConfigMap.
func named(name string) sharedv1alpha1.Resource {
	return resource("v1", "ConfigMap", name)
}

func resource(apiVersion, kind, name string) sharedv1alpha1.Resource {
	return sharedv1alpha1.Resource{
		APIVersion: apiVersion, Kind: kind, ResourceRef: &sharedv1alpha1.ResourceRef{Name: name},
	}
}

// in puts an end into a namespace.
func in(ns string, r sharedv1alpha1.Resource) sharedv1alpha1.Resource {
	if r.ResourceRef != nil {
		r.ResourceRef.Namespace = ns
	}
	if r.ResourceSelector != nil {
		r.ResourceSelector.Namespace = ns
	}
	return r
}

// selected is the end that is a ConfigMap with a label.
func selected(key, value string) sharedv1alpha1.Resource {
	return sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: "ConfigMap",
		ResourceSelector: &sharedv1alpha1.ResourceSelector{MatchLabels: map[string]string{key: value}},
	}
}

// all makes a selected end stand for the set.
func all(r sharedv1alpha1.Resource) sharedv1alpha1.Resource {
	yes := true
	r.ResourceSelector.MatchAll = &yes
	return r
}

// uses creates a Usage of one end by another end.
func uses(name string, by, of sharedv1alpha1.Resource) *protectionv1beta1.Usage {
	u := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.Spec.Of, u.Spec.By = of, &by
	return u
}

// protects makes a Usage of an object for its own sake.
func protects(name string, of sharedv1alpha1.Resource, reason string) *protectionv1beta1.Usage {
	u := &protectionv1beta1.Usage{ObjectMeta: metav1.ObjectMeta{Name: name}}
	u.Spec.Of, u.Spec.Reason = of, &reason
	return u
}

// replaying has refused deletions replayed.
func replaying(u *protectionv1beta1.Usage) *protectionv1beta1.Usage {
	yes := true
	u.Spec.ReplayDeletion = &yes
	return u
}

// composed marks a Usage as part of a composition.
func composed(u *protectionv1beta1.Usage) *protectionv1beta1.Usage {
	u.Labels = map[string]string{"crossplane.io/composite": "it"}
	return u
}

// cluster makes a ClusterUsage of the same spec.
func cluster(u *protectionv1beta1.Usage) *protectionv1beta1.ClusterUsage {
	return &protectionv1beta1.ClusterUsage{ObjectMeta: u.ObjectMeta, Spec: u.Spec}
}

// legacy makes a Usage of the old group of the same spec.
func legacy(u *protectionv1beta1.Usage) *usagev1alpha1.Usage {
	return &usagev1alpha1.Usage{ObjectMeta: u.ObjectMeta, Spec: u.Spec}
}

// Actions of a user.

// create creates objects, by default in the test's namespace. Cluster-scoped objects are
// deleted after the test.
func (w *world) create(objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		if err := w.tryCreate(obj); err != nil {
			w.T.Fatalf("create %s: %v", obj.GetName(), err)
		}
	}
}

func (w *world) tryCreate(obj client.Object) error {
	w.T.Helper()
	namespaced, err := w.C.IsObjectNamespaced(obj)
	if err != nil {
		return err
	}
	if err := w.TryCreate(obj); err != nil || namespaced {
		return err
	}
	w.T.Cleanup(func() { w.tidyUpCluster(obj) })
	return nil
}

// tidyUpCluster deletes a cluster-scoped object as soon as this is allowed.
func (w *world) tidyUpCluster(obj client.Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.T.Context()), 20*time.Second)
	defer cancel()
	// Usages of the namespace may protect it.
	err := w.C.DeleteAllOf(ctx, &protectionv1beta1.Usage{}, client.InNamespace(w.NS))
	if err != nil {
		w.T.Errorf("tidy up: %v", err)
	}
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return apierrors.IsNotFound(w.C.Delete(ctx, obj)), nil
	})
	if err != nil {
		w.T.Errorf("tidy up: %T %s did not go", obj, obj.GetName())
	}
}

// refused deletes an object, expects to be refused, and returns why.
func (w *world) refused(obj client.Object, opts ...client.DeleteOption) string {
	w.T.Helper()
	return w.refusal(obj, opts...).Message
}

const deniedBy = `admission webhook "nousages.protection.crossplane.io" denied the request: `

func (w *world) refusal(obj client.Object, opts ...client.DeleteOption) metav1.Status {
	w.T.Helper()
	return w.refusedAs(w.C, obj, opts...)
}

func (w *world) refusedAs(c client.Client, obj client.Object, opts ...client.DeleteOption) metav1.Status {
	w.T.Helper()
	err := c.Delete(w.T.Context(), obj, opts...)
	// With -race and a megabyte, an answer can take longer than the API server waits: it refuses.
	for tries := 1; apierrors.IsInternalError(err) && tries < 3; tries++ {
		err = c.Delete(w.T.Context(), obj, opts...)
	}
	var status apierrors.APIStatus
	if !apierrors.IsConflict(err) || !errors.As(err, &status) {
		w.T.Fatalf("deletion of %s was answered with %v, want a refusal", obj.GetName(), err)
	}
	answer := status.Status()
	if !strings.HasPrefix(answer.Message, deniedBy) {
		w.T.Fatalf("deletion of %s was refused by somebody else: %s", obj.GetName(), answer.Message)
	}
	answer.Message = strings.TrimPrefix(answer.Message, deniedBy)
	return answer
}

// asOperator returns a client that admission takes for the operator, for states that only the
// operator, or a cluster without its webhooks, can cause.
func (w *world) asOperator() client.Client {
	w.T.Helper()
	config := testenv.As(w.T, options.OperatorOf("usage"), "system:masters")
	return testenv.ClientFor(w.T, config, w.C.Scheme())
}

// kubectl runs kubectl in the test's namespace and returns its output.
func (w *world) kubectl(args ...string) (string, error) {
	w.T.Helper()
	args = append([]string{"--kubeconfig", testenv.Kubeconfig(w.T), "--namespace", w.NS}, args...)
	program := filepath.Join(testenv.Cluster(w.T).BinDir(), "kubectl")
	out, err := exec.CommandContext(w.T.Context(), program, args...).CombinedOutput()
	return string(out), err
}

// Views of a user.

// ready waits until Usages are Ready and in effect.
func (w *world) ready(usages ...usage) {
	w.T.Helper()
	for _, u := range usages {
		testenv.Eventually(w.T, func() error {
			if err := w.Read(u); err != nil {
				return err
			}
			return isReady(u)
		})
	}
}

func isReady(u usage) error {
	status := u.UsageStatus()
	for _, kind := range []string{"Ready", "Effective"} {
		c := meta.FindStatusCondition(status.Conditions, kind)
		switch {
		case c == nil:
			return fmt.Errorf("%s has no condition %s", u.GetName(), kind)
		case c.Status != metav1.ConditionTrue || c.ObservedGeneration != u.GetGeneration():
			return fmt.Errorf("%s: %s is %s for generation %d: %s: %s",
				u.GetName(), kind, c.Status, c.ObservedGeneration, c.Reason, c.Message)
		}
	}
	if status.ObservedGeneration != u.GetGeneration() {
		return fmt.Errorf("%s: status is about generation %d", u.GetName(), status.ObservedGeneration)
	}
	return nil
}

// unready waits until a Usage is not Ready for a reason, and returns the message.
func (w *world) unready(u usage, reason string) string {
	w.T.Helper()
	var message string
	testenv.Eventually(w.T, func() error {
		if err := w.Read(u); err != nil {
			return err
		}
		c := meta.FindStatusCondition(u.UsageStatus().Conditions, "Ready")
		if c == nil || c.Status != metav1.ConditionFalse || c.Reason != reason || c.ObservedGeneration != u.GetGeneration() {
			return fmt.Errorf("%s: Ready is %+v, want False for %s", u.GetName(), c, reason)
		}
		message = c.Message
		return nil
	})
	return message
}

// locked waits until objects carry the lock.
func (w *world) locked(objects ...client.Object) {
	w.T.Helper()
	w.lockIs("true", objects...)
}

// free waits until objects don't carry the lock.
func (w *world) free(objects ...client.Object) {
	w.T.Helper()
	w.lockIs("", objects...)
}

func (w *world) lockIs(want string, objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		testenv.EventuallyWithin(w.T, grace+promptly, func() error {
			if err := w.Read(obj); err != nil {
				return err
			}
			if have := obj.GetLabels()[lock]; have != want {
				return fmt.Errorf("label %s of %s is %q, want %q", lock, obj.GetName(), have, want)
			}
			return nil
		})
	}
}

func (w *world) goneWithin(limit time.Duration, objects ...client.Object) {
	w.T.Helper()
	for _, obj := range objects {
		live := obj.DeepCopyObject().(client.Object)
		testenv.EventuallyWithin(w.T, limit, func() error {
			err := w.Read(live)
			switch {
			case apierrors.IsNotFound(err), err == nil && live.GetUID() != obj.GetUID():
				return nil
			case err != nil:
				return err
			}
			return fmt.Errorf("%T %s is still there", obj, obj.GetName())
		})
	}
}

// told waits for an event on an object and returns it.
func (w *world) told(obj client.Object, reason string) eventsv1.Event {
	w.T.Helper()
	var found eventsv1.Event
	testenv.Eventually(w.T, func() error {
		events := w.events(obj, reason)
		if len(events) == 0 {
			return fmt.Errorf("no event %s on %s", reason, obj.GetName())
		}
		found = events[0]
		return nil
	})
	return found
}

// events returns the events of an object, by name: the object may not exist any more.
func (w *world) events(obj client.Object, reason string) []eventsv1.Event {
	w.T.Helper()
	var list eventsv1.EventList
	if err := w.C.List(w.T.Context(), &list); err != nil {
		w.T.Fatal(err)
	}
	var found []eventsv1.Event
	for _, e := range list.Items {
		r := e.Regarding
		if r.Name == obj.GetName() && r.Namespace == obj.GetNamespace() && e.Reason == reason &&
			(r.UID == "" || r.UID == obj.GetUID()) {
			found = append(found, e)
		}
	}
	return found
}

// awaitProcessed waits until the operator has led another Usage through its whole life: then it
// has handled all earlier events.
func (w *world) awaitProcessed() {
	w.T.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "barrier-"}}
	w.create(cm)
	u := protects(cm.Name, named(cm.Name), "nothing but to wait for")
	w.create(u)
	w.ready(u)
	w.Delete(u)
	w.Gone(u)
	w.free(cm)
}

// unstructuredOf names an object of a kind that only the test knows.
func unstructuredOf(apiVersion, kind, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetName(name)
	return obj
}
