package image

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPoolHangingSources: tasks whose sources do not answer do not delay tasks of other
// sources: neither in the same namespace, because a hanging task keeps no slot, nor in other
// namespaces, which have slots of their own. When the sources answer, only as many tasks
// continue as have slots.
func TestPoolHangingSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(shares{all: 6, namespace: 4, source: 3})
		woken := make(chan string, 100)
		p.Serve(func(obj client.Object) { woken <- obj.GetNamespace() + "/" + obj.GetName() })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- p.Start(ctx) }()
		answer, working := make(chan struct{}), make(chan struct{})
		do := func(namespace, name, source string, run func(context.Context) error) {
			obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: namespace, Name: name, UID: types.UID(namespace + "/" + name),
			}}
			if _, err := p.do(obj, source, run); err != nil {
				t.Error(err)
			}
		}
		for i := range 12 {
			do("a", fmt.Sprint("hangs-", i), fmt.Sprint("host-", i), func(ctx context.Context) error {
				select {
				case <-answer:
				case <-ctx.Done():
					return ctx.Err()
				}
				if err := answered(ctx); err != nil {
					return err
				}
				working <- struct{}{}
				return nil
			})
		}
		for _, namespace := range []string{"b", "a"} {
			do(namespace, "good", "good", answered)
			if got := <-woken; got != namespace+"/good" {
				t.Errorf("%s ended first, want %s/good", got, namespace)
			}
		}
		close(answer)
		synctest.Wait()
		p.mu.Lock()
		if p.using.all != 4 || len(p.resuming) != 8 {
			t.Errorf("%d tasks go on and %d wait, want 4 and 8", p.using.all, len(p.resuming))
		}
		p.mu.Unlock()
		for range 12 {
			<-working
			<-woken
		}
		synctest.Wait()
		if n := p.using.all + p.running.all + len(p.using.source) + len(p.running.namespace); n != 0 {
			t.Errorf("slots are not given back: %+v %+v", p.using, p.running)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestPoolLendsTooLate: a task whose source has answered keeps its slot, although the time
// lent ended at the same moment.
func TestPoolLendsTooLate(t *testing.T) {
	p := newPool(shares{all: 1, namespace: 1, source: 1})
	task := &task{slot: true, obj: named("a")}
	p.using.add(task)
	if err := p.resume(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	p.lend(task) // The timer fired before resume could stop it, and comes second.
	if !task.slot || p.using.all != 1 {
		t.Errorf("the task works without a slot: %d slots in use, want 1", p.using.all)
	}
}
