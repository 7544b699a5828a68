package chaos_test

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/localcluster"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// outage is how long etcd stands still.
const outage = 10 * time.Second

// TestOutage deletes a chain of objects, each of which uses the object before, all at once,
// over and over. Meanwhile etcd stands still for a while, and then the API server crashes. No
// object is deleted before its user.
func TestOutage(t *testing.T) {
	operator.Start(t)
	s := newScene(t)
	n := sized(30)
	for i := range n {
		s.create(s.used(i))
	}
	for i := range n - 1 {
		u := s.usage(i)
		u.Spec.By = new(named("ConfigMap", s.key("used", i+1)))
		s.create(u)
	}
	s.allReady(n - 1)
	cluster := testenv.Cluster(t)
	var going sync.WaitGroup
	left := make(chan int, n)
	going.Go(func() { s.tearDown(n, left) })
	await(t, left, 2*n/3)
	thaw := freeze(t,
		func() error { return cluster.Pause(t.Context(), localcluster.Etcd) },
		func() error { return cluster.Resume(localcluster.Etcd) })
	<-time.After(outage)
	thaw()
	await(t, left, n/3)
	if err := cluster.RestartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	await(t, left, 0)
	going.Wait()
	testenv.Eventually(t, s.noneLeft)
}

// await waits until no more objects are left than so many.
func await(t *testing.T, left <-chan int, atMost int) {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		select {
		case now := <-left:
			if now <= atMost {
				return
			}
		case <-timeout:
			t.Fatalf("more than %d objects are left", atMost)
		}
	}
}

// tearDown deletes all objects of a chain at once, again and again until all are
// gone, and tells after each how many are left.
func (s scene) tearDown(n int, left chan<- int) {
	var mu sync.Mutex
	remaining := n
	var deleting sync.WaitGroup
	for i := range n {
		deleting.Go(func() {
			err := s.insist(func(ctx context.Context) error { return s.tryDelete(ctx, i) })
			if err != nil {
				s.t.Errorf("delete used-%d: %v", i, err)
			}
			if i+1 < n && !s.gone(s.used(i+1)) {
				s.t.Errorf("used-%d was deleted while used-%d exists", i, i+1)
			}
			mu.Lock()
			defer mu.Unlock()
			remaining--
			left <- remaining
		})
	}
	deleting.Wait()
}

// tryDelete sends one request; its answer may be lost.
func (s scene) tryDelete(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	err := s.c.Delete(ctx, s.used(i))
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	err = s.c.Get(ctx, client.ObjectKeyFromObject(s.used(i)), &corev1.ConfigMap{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
