package chaos_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestMovedWhileDown changes a Usage to protect another object while no operator runs. The next
// operator removes the lock from the former object, although no object refers to it any more,
// not even to its kind.
func TestMovedWhileDown(t *testing.T) {
	byPolicy := func(o *options.Options) { o.Enforcement = pack.ByPolicy } // Then a Usage can be changed meanwhile.
	first := operator.Start(t, byPolicy)
	s := newScene(t)
	before := &corev1.Service{ObjectMeta: s.meta("used", 0), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	u := s.usage(0)
	u.Spec.Of, u.Spec.By, u.Spec.Reason = named("Service", before.Name), nil, new("it moves")
	s.create(before, s.used(0), u)
	s.allReady(1)
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	u.Spec.Of = named("ConfigMap", s.key("used", 0))
	if err := s.c.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	operator.Start(t, byPolicy)
	testenv.Eventually(t, func() error {
		if len(s.locked()) != 1 {
			return errors.New("what the Usage protects now is not locked")
		}
		return nil
	})
	testenv.EventuallyWithin(t, recovery, func() error {
		meta := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}}
		if err := s.c.Get(t.Context(), client.ObjectKeyFromObject(before), meta); err != nil {
			return err
		}
		if meta.Labels[lockLabel] != "" {
			return errors.New("the lock is left on what the Usage does not protect any more")
		}
		return nil
	})
	if err := s.c.Delete(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, func() error { // The object would keep the namespace, and no operator would release it.
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}
		return s.c.Delete(t.Context(), namespace, client.DryRunAll)
	})
}
