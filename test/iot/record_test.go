package iot_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	iotv1alpha1 "github.com/kinship-dev/kinship/api/iot/v1alpha1"
	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/testenv"
)

// record has the events of the objects of one kind in the namespace. It has moments that a poll
// would miss.
type record struct {
	w       *world
	list    client.ObjectList
	cancel  context.CancelFunc
	watcher watch.Interface
	first   int // how many objects there were at the begin
	ended   chan struct{}

	mu     sync.Mutex
	events []watch.Event
}

// follow begins a record of a kind with the existing objects.
func (w *world) follow(list client.ObjectList) *record {
	w.T.Helper()
	if err := w.C.List(w.T.Context(), list, client.InNamespace(w.NS)); err != nil {
		w.T.Fatal(err)
	}
	r := &record{w: w, list: list, ended: make(chan struct{})}
	for _, obj := range items(list) {
		r.events = append(r.events, watch.Event{Type: watch.Added, Object: obj})
		r.first++
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(w.T.Context())
	var err error
	r.watcher, err = w.C.Watch(ctx, list, client.InNamespace(w.NS),
		&client.ListOptions{Raw: optionsFrom(list.GetResourceVersion())})
	if err != nil {
		w.T.Fatal(err)
	}
	go func() {
		defer close(r.ended)
		for event := range r.watcher.ResultChan() {
			r.mu.Lock()
			r.events = append(r.events, event)
			r.mu.Unlock()
		}
	}()
	return r
}

// stop ends the record when it has all present objects, and returns it. A record that broke off
// proves nothing, and fails the test.
func (r *record) stop() []watch.Event {
	r.w.T.Helper()
	if err := r.w.C.List(r.w.T.Context(), r.list, client.InNamespace(r.w.NS)); err != nil {
		r.w.T.Fatal(err)
	}
	var newest uint64
	for _, obj := range items(r.list) {
		newest = max(newest, version(obj))
	}
	var events []watch.Event
	testenv.Eventually(r.w.T, func() error {
		events = r.soFar()
		seen := func(event watch.Event) bool { return version(event.Object) >= newest }
		if newest > 0 && !slices.ContainsFunc(events, seen) {
			return fmt.Errorf("version %d is not seen yet", newest)
		}
		return nil
	})
	r.cancel() // The rest of the stream may look like a failure.
	r.watcher.Stop()
	<-r.ended
	return events
}

// soFar returns the events so far, and fails the test if some are missing.
func (r *record) soFar() []watch.Event {
	r.w.T.Helper()
	select {
	case <-r.ended:
		r.w.T.Fatal("the watch ended by itself")
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.events {
		if event.Type == watch.Error {
			r.w.T.Fatalf("the watch failed: %v", event.Object)
		}
	}
	return slices.Clone(r.events)
}

// inOrder merges the records of several kinds into the order of their events.
func inOrder(records ...[]watch.Event) []watch.Event {
	all := slices.Concat(records...)
	slices.SortStableFunc(all, func(a, b watch.Event) int { return cmp.Compare(version(a.Object), version(b.Object)) })
	return all
}

// version returns the resourceVersion of an object, or zero.
func version(obj runtime.Object) uint64 {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(accessor.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func items(list client.ObjectList) []client.Object {
	var all []client.Object
	_ = meta.EachListItem(list, func(obj runtime.Object) error {
		all = append(all, obj.DeepCopyObject().(client.Object))
		return nil
	})
	return all
}

// watchPods follows the Ready Pods of the namespace. The returned function ends the watch, once
// there are as many Pods as wanted, and returns the smallest number.
func (w *world) watchPods() func() int {
	w.T.Helper()
	r := w.follow(&corev1.PodList{})
	return func() int {
		w.T.Helper()
		testenv.Eventually(w.T, func() error {
			if is, want := staying(r.soFar()), w.replicas(); is != want {
				return fmt.Errorf("%d Pods stay, and the Deployments want %d", is, want)
			}
			return nil
		})
		return leastReady(r.first, r.stop())
	}
}

// staying returns how many Pods there are in the end that are not being deleted.
func staying(events []watch.Event) int {
	pods := map[string]bool{}
	for _, event := range events {
		pod := event.Object.(*corev1.Pod)
		delete(pods, pod.Name)
		if event.Type != watch.Deleted && pod.DeletionTimestamp == nil {
			pods[pod.Name] = true
		}
	}
	return len(pods)
}

// replicas returns how many Pods all Deployments want together.
func (w *world) replicas() int {
	w.T.Helper()
	var list appsv1.DeploymentList
	if err := w.C.List(w.T.Context(), &list, client.InNamespace(w.NS)); err != nil {
		w.T.Fatal(err)
	}
	all := 0
	for i := range list.Items {
		all += int(*list.Items[i].Spec.Replicas)
	}
	return all
}

// leastReady returns the smallest number of Ready Pods at any moment, and the smallest number
// for any container that ran in the first n Pods and still runs at the end, from the moment
// when the first Pods are known: containers of one Pod may run in Pods of their own later, and
// each container serves its own clients.
func leastReady(n int, events []watch.Event) int {
	serving := map[string][]string{}
	var lowest map[string]int
	for i, event := range events {
		pod := event.Object.(*corev1.Pod)
		delete(serving, pod.Name)
		if event.Type != watch.Deleted && isReady(pod) {
			serving[pod.Name] = containers(pod)
		}
		if i+1 < n {
			continue
		}
		now := served(serving)
		if lowest == nil {
			lowest = maps.Clone(now)
		}
		for service := range lowest {
			lowest[service] = min(lowest[service], now[service])
		}
	}
	left := served(serving)
	maps.DeleteFunc(lowest, func(service string, _ int) bool { return left[service] == 0 })
	if len(lowest) == 0 {
		return 0
	}
	return slices.Min(slices.Collect(maps.Values(lowest)))
}

func containers(pod *corev1.Pod) []string {
	names := make([]string, 1, len(pod.Spec.Containers)+1) // "" is the Pod itself.
	for _, c := range pod.Spec.Containers {
		names = append(names, c.Name)
	}
	return names
}

// served returns how many Pods each container runs in.
func served(serving map[string][]string) map[string]int {
	n := map[string]int{}
	for _, names := range serving {
		for _, name := range names {
			n[name]++
		}
	}
	return n
}

// isReady reports whether a Pod is Ready; a terminating Pod gets no traffic.
func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

// held runs a function while the controllers of Kubernetes are stopped: they see no change
// meanwhile. No other test may run at the same time.
func (w *world) held(f func()) {
	w.T.Helper()
	cluster := testenv.Cluster(w.T)
	if err := cluster.Pause(w.T.Context(), localcluster.ControllerManager); err != nil {
		w.T.Fatal(err)
	}
	defer func() {
		if err := cluster.Resume(localcluster.ControllerManager); err != nil {
			w.T.Error(err)
		}
	}()
	f()
}

// rolled reports whether all Pods of a Deployment have its present template, and are available.
func rolled(d *appsv1.Deployment) bool {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration == d.Generation && s.Replicas == want && s.UpdatedReplicas == want &&
		s.AvailableReplicas == want
}

// down returns, of each moment of a record, the connectors that have a Deployment which
// is changing or does not serve.
func down(events []watch.Event, see func(event watch.Event, down map[string]bool)) {
	changing := map[string]string{}
	for _, event := range events {
		if d, ok := event.Object.(*appsv1.Deployment); ok {
			delete(changing, d.Name)
			if event.Type != watch.Deleted && !rolled(d) {
				changing[d.Name] = d.OwnerReferences[0].Name
			}
		}
		connectors := map[string]bool{}
		for _, name := range changing {
			connectors[name] = true
		}
		see(event, connectors)
	}
}

// mostUnready returns the largest number of connectors that were not Ready in their present
// generation at the same time.
func mostUnready(events []watch.Event) int {
	unready, most := map[string]bool{}, 0
	for _, event := range events {
		c := event.Object.(*iotv1alpha1.IotConnector)
		delete(unready, c.Name)
		ready := meta.FindStatusCondition(c.Status.Conditions, "Ready")
		if event.Type != watch.Deleted &&
			(ready == nil || ready.Status != "True" || ready.ObservedGeneration != c.Generation) {
			unready[c.Name] = true
		}
		most = max(most, len(unready))
	}
	return most
}

// truthful fails the test for each moment of a record at which a connector is Ready in its
// present generation although its Deployments are not.
func truthful(t *testing.T, events []watch.Event) {
	t.Helper()
	down(events, func(event watch.Event, down map[string]bool) {
		c, ok := event.Object.(*iotv1alpha1.IotConnector)
		if !ok || event.Type == watch.Deleted || !down[c.Name] {
			return
		}
		ready := meta.FindStatusCondition(c.Status.Conditions, "Ready")
		if ready != nil && ready.Status == "True" && ready.ObservedGeneration == c.Generation {
			t.Errorf("%s is Ready at generation %d, with a Deployment that is not", c.Name, c.Generation)
		}
	})
}

// TestLeastReady: containers that ran in one Pod and run in two Pods later count as missing as
// soon as one of the Pods is not Ready.
func TestLeastReady(t *testing.T) {
	t.Parallel()
	event := func(kind watch.EventType, name string, containers ...string) watch.Event {
		pod := &corev1.Pod{}
		pod.Name = name
		for _, c := range containers {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: c})
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		return watch.Event{Type: kind, Object: pod}
	}
	both := event(watch.Added, "old", "a", "b")
	a, b := event(watch.Added, "new-a", "a"), event(watch.Added, "new-b", "b")
	gone := event(watch.Deleted, "old", "a", "b")
	for reason, c := range map[string]struct {
		events []watch.Event
		want   int
	}{
		"both serve before it goes": {[]watch.Event{both, a, b, gone}, 1},
		"one comes too late":        {[]watch.Event{both, a, gone, b}, 0},
		"one is not needed":         {[]watch.Event{both, a, gone}, 1},
		"nothing serves":            {[]watch.Event{both, gone, a}, 0},
	} {
		if got := leastReady(1, c.events); got != c.want {
			t.Errorf("%s: %d, want %d", reason, got, c.want)
		}
	}
}
