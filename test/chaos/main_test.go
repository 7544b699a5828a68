package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

const (
	lockLabel     = "crossplane.io/in-use"
	composedLabel = "crossplane.io/composite"
)

func TestMain(m *testing.M) {
	operator.Packs("usage")
	testenv.Main(m, testenv.WithoutPods(), testenv.CRDs("../../config/crd"), testenv.CheckLeaks())
}

// sized multiplies a number of objects as the environment asks.
func sized(n int) int {
	if factor, err := strconv.Atoi(os.Getenv("CHAOS_SIZE")); err == nil && factor > 0 {
		return n * factor
	}
	return n
}

// scene is a namespace with pairs of objects: Secret using-N uses ConfigMap
// used-N by Usage usage-N.
type scene struct {
	t  *testing.T
	c  client.WithWatch
	ns string
}

func newScene(t *testing.T) scene {
	t.Helper()
	return scene{t: t, c: operator.Client(t), ns: testenv.Namespace(t)}
}

func (s scene) meta(name string, i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.ns, Name: fmt.Sprintf("%s-%d", name, i)}
}

func (s scene) used(i int) *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: s.meta("used", i)} }

func (s scene) using(i int) *corev1.Secret    { return &corev1.Secret{ObjectMeta: s.meta("using", i)} }
func (s scene) key(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }

func (s scene) usage(i int) *protectionv1beta1.Usage {
	return &protectionv1beta1.Usage{ObjectMeta: s.meta("usage", i), Spec: sharedv1alpha1.UsageSpec{
		Of: named("ConfigMap", s.key("used", i)),
		By: new(named("Secret", s.key("using", i))),
	}}
}

func named(kind, name string) sharedv1alpha1.Resource {
	return sharedv1alpha1.Resource{
		APIVersion: "v1", Kind: kind, ResourceRef: &sharedv1alpha1.ResourceRef{Name: name},
	}
}

// create creates objects and fails the test on an error.
func (s scene) create(objects ...client.Object) {
	s.t.Helper()
	for _, obj := range objects {
		if err := s.c.Create(s.t.Context(), obj); err != nil {
			s.t.Fatalf("create %T %s: %v", obj, obj.GetName(), err)
		}
	}
}

// pairs creates n used and using objects.
func (s scene) pairs(n int) {
	s.t.Helper()
	for i := range n {
		s.create(s.used(i), s.using(i))
	}
}

// insist repeats a request until it succeeds, as a client does while no operator runs.
func (s scene) insist(request func(context.Context) error) error {
	return s.insistEvery(20*time.Millisecond, request)
}

// insistEvery is insist with a pause between requests.
func (s scene) insistEvery(pause time.Duration, request func(context.Context) error) error {
	deadline := time.After(3 * time.Minute) // Some have the control plane be away as well.
	for {
		err := request(s.t.Context())
		if err == nil {
			return nil
		}
		select {
		case <-s.t.Context().Done():
			return err
		case <-deadline:
			return err
		case <-time.After(pause):
		}
	}
}

// isReady returns nil if a Usage is Ready, else why not.
func (s scene) isReady(i int) error {
	var u protectionv1beta1.Usage
	if err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(s.usage(i)), &u); err != nil {
		return err
	}
	return readiness(&u)
}

func readiness(u *protectionv1beta1.Usage) error {
	ready := meta.FindStatusCondition(u.Status.Conditions, sharedv1alpha1.ConditionReady)
	if ready == nil {
		return errors.New("no condition Ready")
	}
	if ready.Status != metav1.ConditionTrue {
		return errors.New(ready.Message)
	}
	return nil
}

// allReady waits until n Usages are Ready.
func (s scene) allReady(n int) {
	s.t.Helper()
	testenv.Eventually(s.t, func() error {
		var list protectionv1beta1.UsageList
		if err := s.c.List(s.t.Context(), &list, client.InNamespace(s.ns)); err != nil {
			return err
		}
		ready := 0
		var err error
		for i := range list.Items {
			if notReady := readiness(&list.Items[i]); notReady != nil {
				err = fmt.Errorf("%s: %w", list.Items[i].Name, notReady)
				continue
			}
			ready++
		}
		if ready < n {
			return fmt.Errorf("%d of %d Usages are Ready; %w", ready, n, err)
		}
		return nil
	})
}

// protect creates n pairs with Usages and waits until all are Ready.
func (s scene) protect(n int) {
	s.t.Helper()
	s.pairs(n)
	for i := range n {
		s.create(s.usage(i))
	}
	s.allReady(n)
}

// noneLeft returns nil when there is no Usage in the namespace any more.
func (s scene) noneLeft() error {
	var list protectionv1beta1.UsageList
	if err := s.c.List(s.t.Context(), &list, client.InNamespace(s.ns)); err != nil {
		return err
	}
	if n := len(list.Items); n > 0 {
		return fmt.Errorf("%d Usages are left, among them %s: %+v", n, list.Items[0].Name, list.Items[0].Status.Conditions)
	}
	return nil
}

// locked returns the names of the ConfigMaps that carry the lock.
func (s scene) locked() []string {
	s.t.Helper()
	var list corev1.ConfigMapList
	if err := s.c.List(s.t.Context(), &list, client.InNamespace(s.ns), client.HasLabels{lockLabel}); err != nil {
		s.t.Fatal(err)
	}
	names := make([]string, 0, len(list.Items))
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	return names
}

// gone reports whether an object does not exist; it repeats the request after errors.
func (s scene) gone(obj client.Object) bool {
	var notFound bool
	err := s.insist(func(ctx context.Context) error {
		err := s.c.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		notFound = apierrors.IsNotFound(err)
		return client.IgnoreNotFound(err)
	})
	return err == nil && notFound
}

// seen is one state of an object in a watch.
type seen struct {
	event watch.EventType
	obj   client.Object
}

// record has all events of the objects of one kind, by name.
type record struct {
	mu     sync.Mutex
	states map[string][]seen
}

// watch records the events of a kind until the test ends, beginning with the existing objects.
// watch calls hook, if set, for each later event before the event is visible in the record.
func (s scene) watch(list client.ObjectList, hook func(seen)) *record {
	s.t.Helper()
	if err := s.c.List(s.t.Context(), list, client.InNamespace(s.ns)); err != nil {
		s.t.Fatal(err)
	}
	// Without a version the watch begins a little later than now.
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	w, err := s.c.Watch(s.t.Context(), list, client.InNamespace(s.ns), since)
	if err != nil {
		s.t.Fatal(err)
	}
	r := &record{states: map[string][]seen{}}
	_ = meta.EachListItem(list, func(item runtime.Object) error {
		obj := item.(client.Object)
		r.states[obj.GetName()] = []seen{{watch.Added, obj}}
		return nil
	})
	var done sync.WaitGroup
	done.Go(func() {
		for event := range w.ResultChan() {
			obj, ok := event.Object.(client.Object)
			if !ok {
				continue
			}
			if hook != nil {
				hook(seen{event.Type, obj})
			}
			r.mu.Lock()
			r.states[obj.GetName()] = append(r.states[obj.GetName()], seen{event.Type, obj})
			r.mu.Unlock()
		}
	})
	s.t.Cleanup(func() {
		w.Stop()
		done.Wait()
	})
	return r
}

// of returns the states that an object went through.
func (r *record) of(name string) []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen(nil), r.states[name]...)
}

// count returns the number of events of a type.
func (r *record) count(event watch.EventType) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, states := range r.states {
		for _, state := range states {
			if state.event == event {
				n++
			}
		}
	}
	return n
}

// locks returns when an object was locked (true) and unlocked, in order.
func locks(states []seen) []bool {
	var changes []bool
	on := false
	for _, state := range states {
		if state.event == watch.Deleted {
			continue
		}
		if now := state.obj.GetLabels()[lockLabel] != ""; now != on {
			on = now
			changes = append(changes, on)
		}
	}
	return changes
}
