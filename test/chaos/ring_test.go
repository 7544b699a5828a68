package chaos_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestRingTearDown deletes rings of objects that use each other, together with their Usages.
// For any origin of the ring, no deletion waits for ever.
func TestRingTearDown(t *testing.T) {
	// With --enforcement=policy, no webhook checks new Usages, so a ring can be created.
	operator.Start(t, func(o *options.Options) { o.Enforcement = pack.ByPolicy })
	for _, test := range []struct {
		name     string
		length   int
		composed bool
		selector bool // an object that matches a selector closes the ring
	}{
		{name: "two", length: 2},
		{name: "two composed", length: 2, composed: true},
		{name: "fifty composed", length: 50, composed: true},
		{name: "closed by selector", length: 5, composed: true, selector: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(t)
			for i := range test.length {
				obj := s.used(i)
				obj.Labels = map[string]string{"ring": s.key("used", i)}
				s.create(obj)
			}
			for i := range test.length {
				u := s.usage(i)
				u.Spec.By = new(named("ConfigMap", s.key("used", (i+1)%test.length)))
				if test.composed {
					u.Labels = map[string]string{composedLabel: "composite"}
				}
				if test.selector && i == 0 {
					u.Spec.By.ResourceRef = nil
					u.Spec.By.ResourceSelector = &sharedv1alpha1.ResourceSelector{
						MatchLabels: map[string]string{"ring": s.key("used", 1)}, MatchAll: new(true),
					}
				}
				s.create(u)
			}
			created := time.Now()
			if !test.selector {
				testenv.Eventually(t, func() error { return s.inRing(test.length) })
			}
			found := time.Now()
			s.tearDownRing(test.length)
			t.Logf("the ring was found after %s and gone after %s more",
				found.Sub(created).Round(time.Millisecond), time.Since(found).Round(time.Millisecond))
		})
	}
}

// inRing returns nil if every Usage has the reason Cycle.
func (s scene) inRing(n int) error {
	var list protectionv1beta1.UsageList
	if err := s.c.List(s.t.Context(), &list, client.InNamespace(s.ns)); err != nil {
		return err
	}
	for i := range list.Items {
		ready := meta.FindStatusCondition(list.Items[i].Status.Conditions, sharedv1alpha1.ConditionReady)
		if ready == nil || ready.Reason != sharedv1alpha1.ReasonCycle {
			return fmt.Errorf("%s of %d: %+v, want reason Cycle", list.Items[i].Name, n, ready)
		}
	}
	return nil
}

// tearDownRing deletes all objects, as a user does who removes a whole application: a refused
// deletion is repeated.
func (s scene) tearDownRing(n int) {
	s.t.Helper()
	if err := s.c.DeleteAllOf(s.t.Context(), &protectionv1beta1.Usage{}, client.InNamespace(s.ns)); err != nil {
		s.t.Fatal(err)
	}
	testenv.Eventually(s.t, func() error {
		var left error
		for i := range n {
			err := s.c.Delete(s.t.Context(), s.used(i))
			if !apierrors.IsNotFound(err) {
				left = fmt.Errorf("used-%d is left: %w", i, err)
			}
		}
		return left
	})
	testenv.Eventually(s.t, s.noneLeft)
}
