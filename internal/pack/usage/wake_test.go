package usage

import (
	"testing"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestWakeUnresolved: a Usage that looks for an object is woken when there is one that
// it may choose, and not by everything else that happens to objects of the kind.
func TestWakeUnresolved(t *testing.T) {
	obj := func(ns string, labels map[string]string) *relation.Object {
		return &relation.Object{ID: object.ID{Kind: "ConfigMap", Namespace: ns, Name: "cm"}, UID: "uid", Labels: labels}
	}
	wanted, other := map[string]string{"app": "x", "more": "y"}, map[string]string{"app": "y"}
	going := obj("ns", wanted)
	going.Deleting = true
	cases := map[string]struct {
		reason   string
		old, new *relation.Object
		want     int
	}{
		"appears":           {"it is the one", nil, obj("ns", wanted), 1},
		"labelled":          {"it has become the one", obj("ns", other), obj("ns", wanted), 1},
		"recreated":         {"the one before could not be chosen", going, obj("ns", wanted), 1},
		"same":              {"it could have been chosen before", obj("ns", wanted), obj("ns", wanted), 0},
		"another namespace": {"the Usage does not look there", nil, obj("other", wanted), 0},
		"other labels":      {"it is not selected", nil, obj("ns", other), 0},
		"going":             {"what goes is not chosen", nil, going, 0},
		"gone":              {"there is one less", obj("ns", wanted), nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			l := newTestLedger(t)
			u := &protectionv1beta1.Usage{Spec: sharedv1alpha1.UsageSpec{Of: sharedv1alpha1.Resource{
				APIVersion: "v1", Kind: "ConfigMap",
				ResourceSelector: &sharedv1alpha1.ResourceSelector{MatchLabels: map[string]string{"app": "x"}},
			}, Reason: new("precious")}}
			u.Namespace, u.Name, u.UID, u.Finalizers = "ns", "looks", "looks", []string{finalizer}
			l.get = func(object.ID) usage { return u }
			l.declare(identify(u))
			woken := 0
			l.Declarer = func(id object.ID) {
				if id == identify(u) {
					woken++
				}
			}
			l.objectChanged(relation.Change{Old: c.old, New: c.new})
			if woken != c.want {
				t.Errorf("%s: woken %d times, want %d", c.reason, woken, c.want)
			}
		})
	}
}
