package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// recovery is how long a new operator may take to finish the work that its predecessor left, on
// a busy machine.
const recovery = 15 * time.Second

// moments are the visible moments in the life of a Usage.
var moments = []struct {
	name string
	is   func(seen) bool
}{
	{"created", func(s seen) bool { return isUsage(s) && s.event == watch.Added }},
	{"locked", func(s seen) bool { return !isUsage(s) && s.event == watch.Modified && isLocked(s) }},
	{"ready", func(s seen) bool { return isUsage(s) && readiness(s.obj.(*protectionv1beta1.Usage)) == nil }},
	{"ending", func(s seen) bool { return isUsage(s) && s.obj.GetDeletionTimestamp() != nil }},
	{"unlocked", func(s seen) bool { return !isUsage(s) && s.event == watch.Modified && !isLocked(s) }},
	{"gone", func(s seen) bool { return isUsage(s) && s.event == watch.Deleted }},
}

func isUsage(s seen) bool {
	_, ok := s.obj.(*protectionv1beta1.Usage)
	return ok
}

func isLocked(s seen) bool { return s.obj.GetLabels()[lockLabel] != "" }

// TestKill kills the operator at every visible moment in the life of Usages. The next operator
// finishes the work, leaves no lock behind, and writes nothing twice.
func TestKill(t *testing.T) {
	for _, moment := range moments {
		t.Run(moment.name, func(t *testing.T) {
			n := sized(20)
			after := 1 + rand.IntN(n) // With this number of Usages. The moment is one of a hundred anyway.
			t.Logf("killed when Usage %d of %d is %s", after, n, moment.name)

			p, l := newProxy(t), &ledger{}
			p.Set(l.meddle)
			first := operator.Exec(t, "--kubeconfig", p.Kubeconfig(t))
			s := newScene(t)
			killed := make(chan struct{})
			strike := sync.OnceFunc(func() {
				first.Kill()
				close(killed)
			})
			var mu sync.Mutex
			count := map[string]bool{}
			hook := func(state seen) {
				mu.Lock()
				defer mu.Unlock()
				if !moment.is(state) {
					return
				}
				if count[state.obj.GetName()] = true; len(count) >= after {
					strike()
				}
			}
			s.pairs(n)
			configMaps := s.watch(&corev1.ConfigMapList{}, hook)
			usages := s.watch(&protectionv1beta1.UsageList{}, hook)
			s.liveAndDie(n, p, killed)
			s.checkWrites(n, l, configMaps, usages)
		})
	}
}

// liveAndDie leads n Usages through their lives, kills the operator meanwhile, and starts
// another operator.
func (s scene) liveAndDie(n int, p *proxy, killed chan struct{}) {
	s.t.Helper()
	var replaced sync.WaitGroup
	replaced.Go(func() {
		for i := range n {
			if err := s.insist(func(ctx context.Context) error {
				return ignoreExists(s.c.Create(ctx, s.usage(i)))
			}); err != nil {
				s.t.Errorf("create Usage %d: %v", i, err)
			}
		}
		if s.waitReady(n) {
			for i := range n {
				if err := s.c.Delete(s.t.Context(), s.using(i)); err != nil {
					s.t.Errorf("delete using object %d: %v", i, err)
				}
			}
		}
	})
	select {
	case <-killed:
	case <-time.After(time.Minute):
		s.t.Fatal("the moment never came")
	}
	operator.Exec(s.t, "--kubeconfig", p.Kubeconfig(s.t))
	start := time.Now()
	replaced.Wait()
	testenv.EventuallyWithin(s.t, recovery, s.noneLeft)
	s.t.Logf("all was done %s after the new operator was ready", time.Since(start).Round(time.Millisecond))
}

func ignoreExists(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// waitReady waits until n Usages were Ready. Unlike allReady, it may be called from any
// goroutine.
func (s scene) waitReady(n int) bool {
	for i := range n {
		if err := s.insist(func(context.Context) error { return s.isReady(i) }); err != nil {
			s.t.Errorf("Usage %d never became Ready: %v", i, err)
			return false
		}
	}
	return true
}

// checkWrites compares the number of requests with the number of events: a write that changes
// nothing causes no event, so the numbers differ by such writes.
func (s scene) checkWrites(n int, l *ledger, configMaps, usages *record) {
	s.t.Helper()
	if left := s.locked(); len(left) > 0 {
		s.t.Errorf("locks are left on %v", left)
	}
	testenv.Eventually(s.t, func() error {
		for i := range n {
			changes := locks(configMaps.of(s.key("used", i)))
			if !slices.Equal(changes, []bool{true, false}) {
				return fmt.Errorf("lock of used-%d went %v, want on and off", i, changes)
			}
		}
		if got := usages.count(watch.Deleted); got != n {
			return fmt.Errorf("%d of %d Usages were seen to go", got, n)
		}
		return nil
	})
	testenv.Eventually(s.t, func() error { // An event may come before the answer does.
		for i := range n {
			if got := l.patches(s.ns, "configmaps/"+s.key("used", i)); got != 2 {
				return fmt.Errorf("the lock was put on used-%d and taken off by %d requests", i, got)
			}
			// The garbage collector's deletion causes an event, too, and the write that removes
			// the last finalizer causes Deleted instead of Modified.
			got, want := l.patches(s.ns, "usages/"+s.key("usage", i)), len(usages.of(s.key("usage", i)))-2
			if got != want {
				return fmt.Errorf("usage-%d changed %d times by %d requests", i, want, got)
			}
		}
		return nil
	})
}

// TestKillWhileWaiting kills the operator again and again while deleted composed Usages wait
// for their using objects, and a client deletes the used objects without pause: neither a Usage
// nor a used object may be deleted.
func TestKillWhileWaiting(t *testing.T) {
	o := operator.Exec(t)
	s := newScene(t)
	n := sized(20)
	s.pairs(n)
	for i := range n {
		u := s.usage(i)
		u.Labels = map[string]string{composedLabel: "composite"}
		s.create(u)
	}
	s.allReady(n)
	for i := range n {
		if err := s.c.Delete(t.Context(), s.usage(i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var hammering sync.WaitGroup
	for worker := range 4 {
		hammering.Go(func() { s.hammer(ctx, n, worker) })
	}
	for range 3 {
		o.Kill()
		o = operator.Exec(t)
	}
	stop()
	hammering.Wait()
	var list protectionv1beta1.UsageList
	if err := s.c.List(t.Context(), &list, client.InNamespace(s.ns)); err != nil {
		t.Fatal(err)
	}
	if got := len(list.Items); got != n {
		t.Errorf("%d of %d Usages still wait for their using objects", got, n)
	}
	for i := range n {
		if err := s.c.Delete(t.Context(), s.using(i)); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, s.noneLeft)
	if left := s.locked(); len(left) > 0 {
		t.Errorf("locks are left on %v", left)
	}
}

// hammer deletes used objects until the context ends, and reports each used object that is
// deleted before its using object.
func (s scene) hammer(ctx context.Context, n, from int) {
	for i := from; ctx.Err() == nil; i = (i + 1) % n {
		if s.c.Delete(ctx, s.used(i)) == nil && !s.gone(s.using(i)) {
			s.t.Errorf("used-%d was deleted while using-%d exists", i, i)
			return
		}
	}
}
