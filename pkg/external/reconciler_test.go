package external

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
)

// lateStore is a cache that changes once, just after GetByKey has read an object.
type lateStore struct {
	toolscache.Store

	then func()
}

// GetByKey implements toolscache.Store.
func (s *lateStore) GetByKey(key string) (any, bool, error) {
	item, exists, err := s.Store.GetByKey(key)
	if then := s.then; then != nil {
		s.then = nil
		then()
	}
	return item, exists, err
}

// TestGoneMeanwhile: a pass over an object whose record is forgotten meanwhile ends (endIfForgotten).
// Otherwise the pass would, for example, delete a deleted resource again.
func TestGoneMeanwhile(t *testing.T) {
	of := func(uid types.UID) *openstackv1alpha1.Network {
		n := &openstackv1alpha1.Network{ObjectMeta: metav1.ObjectMeta{
			Name: used.Name, Namespace: used.Namespace, UID: uid, ResourceVersion: "9",
			Finalizers: []string{"example.com/network"}, DeletionTimestamp: &metav1.Time{},
		}}
		n.Spec.ManagementPolicy, n.Status.ID = "managed", new("1")
		return n
	}
	for reason, next := range map[string]*openstackv1alpha1.Network{
		"it is gone":                   nil,
		"another one has the name now": of("second"),
	} {
		t.Run(reason, func(t *testing.T) {
			r, _ := newReconciler()
			r.engine.Live, r.finalizer = unreachable(t), "example.com/network"
			store := &lateStore{Store: newStore()}
			r.kind.GVK = networks
			attach(r, store)
			r.kind.Connect = func(context.Context, Input[*openstackv1alpha1.Network]) (
				a Access[*openstackv1alpha1.Network, string], err error,
			) {
				t.Error("the cloud is asked for what is gone")
				return a, &Error{Class: Underway}
			}
			if err := store.Add(of("first")); err != nil {
				t.Fatal(err)
			}
			first := r.engine.records.learn(used, "first")
			first.releasedAt = "10"
			store.then = func() {
				if err := store.Delete(of("first")); err != nil {
					t.Error(err)
				}
				if next != nil {
					if err := store.Add(next); err != nil {
						t.Error(err)
					}
				}
				r.forget(first)
			}
			if _, err := r.Reconcile(t.Context(), used); err != nil {
				t.Error(err)
			}
			if n := r.engine.records.size(); n > 0 {
				t.Errorf("%d things are remembered", n)
			}
		})
	}
}

// TestLateReport: the deferral of a pass that ends after the deletion of its object is dropped by the pass
// that the deletion requests. Otherwise the late deferral would lengthen the deferrals of all other
// objects (Reports.Each).
func TestLateReport(t *testing.T) {
	s := newSharers(t)
	s.create("a")
	n := s.read("a")
	s.must(s.c.Delete(t.Context(), n))
	s.watch("a")
	waits := report{Status: &n.Status.ExternalStatus, Waits: true}
	s.r.reports.Wrote(s.id("a"), s.clock.Now(), waits, waits) // By the late pass.
	if s.r.reports.Len() != 1 {
		t.Fatal("the object is not in progress")
	}
	s.pass("a")
	if n := s.r.reports.Len(); n > 0 {
		t.Errorf("%d objects in progress", n)
	}
	s.forgotten()
}
