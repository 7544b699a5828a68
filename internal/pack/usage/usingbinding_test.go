package usage

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/internal/testenv"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// TestAddOwner: the using object owns the Usage, once, unless it lives in another namespace.
func TestAddOwner(t *testing.T) {
	cases := map[string]struct {
		reason    string
		namespace string
		have      []metav1.OwnerReference
		want      int
	}{
		"own namespace":     {"the garbage collector deletes the Usage with it", "ns", nil, 1},
		"cluster-scoped":    {"such an owner is allowed everywhere", "", nil, 1},
		"another namespace": {"the garbage collector would delete the Usage at once", "other", nil, 0},
		"again":             {"the reference is there", "ns", []metav1.OwnerReference{{UID: "uid"}}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := uses("u")
			u.Namespace, u.OwnerReferences = "ns", c.have
			addOwner(u, relation.Object{ID: object.ID{Kind: "ConfigMap", Namespace: c.namespace, Name: "using"}, UID: "uid"})
			if got := len(u.OwnerReferences); got != c.want {
				t.Errorf("%s: %d owners, want %d", c.reason, got, c.want)
			}
		})
	}
}

// TestUnbind: the owner reference of the former using object is removed, that of a controller and
// of strangers are not.
func TestUnbind(t *testing.T) {
	u := uses("u")
	u.Status.Using = &boundObject{UID: "using"}
	u.OwnerReferences = []metav1.OwnerReference{{UID: "using"}, {UID: "other"}, {UID: "using", Controller: new(true)}}
	unbind(u)
	if len(u.OwnerReferences) != 2 || u.Status.Using != nil {
		t.Errorf("owners %+v, using %+v", u.OwnerReferences, u.Status.Using)
	}
}

// TestBindUsing: a Usage waits for its using object, is bound to the object's UID, and is
// deleted when that object is deleted, even if another object has its name.
func TestBindUsing(t *testing.T) {
	r := newRig(t)
	used, using, u := configMap("used"), configMap("using"), uses("u")
	r.create(used)
	r.protect(u)
	r.ready(u, sharedv1alpha1.ReasonUsingNotFound)
	r.locked(used, false)
	r.create(using)
	r.pass(u)
	r.ready(u, "")
	if u.Status.Using == nil || u.Status.Using.UID != using.UID || len(u.OwnerReferences) != 1 {
		t.Fatalf("using is %+v, owners %+v", u.Status.Using, u.OwnerReferences)
	}
	r.delete(using)
	r.create(configMap("using"))
	if r.pass(u) && u.DeletionTimestamp == nil { // The garbage collector may have been quicker.
		t.Error("the Usage is not deleted")
	}
}

// TestBindUsingControlled: a Usage that has a controller stays without its using object, and is
// bound again.
func TestBindUsingControlled(t *testing.T) {
	r := newRig(t)
	used, using, owner, u := configMap("used"), configMap("using"), configMap("owner"), uses("u")
	r.create(used, using, owner)
	u.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true),
	}}
	r.protect(u)
	r.ready(u, "")
	r.delete(using)
	r.pass(u)
	r.ready(u, sharedv1alpha1.ReasonUsingNotFound)
	r.create(configMap("using"))
	testenv.Eventually(t, func() error { // The garbage collector removes the former owner at the same time.
		r.pass(u)
		if c := readyCondition(u); c.Status != metav1.ConditionTrue {
			return errors.New(c.Message)
		}
		return nil
	})
}

// TestAwaitUsing: a deleted Usage waits for the grace period, and without limit if it is composed
// or its using object is being deleted.
func TestAwaitUsing(t *testing.T) {
	cases := map[string]struct {
		reason             string
		composed, deleting bool
		passed             time.Duration
		gone               bool
	}{
		"within the grace period": {"a bulk deletion may reach the using object", false, false, 0, false},
		"after it":                {"a user ends the protection", false, false, 2 * time.Hour, true},
		"composed":                {"the composition deletes the using object, too", true, false, 2 * time.Hour, false},
		"deleting":                {"the using object still needs the used one", false, true, 2 * time.Hour, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			using, u := configMap("using"), uses("u")
			using.Finalizers = []string{"example.com/hold"}
			if c.composed {
				u.Labels = map[string]string{composedLabel: "x"}
			}
			r.create(using, configMap("used"))
			t.Cleanup(func() { r.unhold(using) })
			r.protect(u)
			r.ready(u, "")
			if c.deleting {
				r.delete(using)
			}
			r.delete(u)
			r.clock = clocktesting.NewFakePassiveClock(time.Now().Add(c.passed))
			if exists := r.pass(u); exists == c.gone {
				t.Fatalf("%s: the Usage exists: %t", c.reason, exists)
			}
			if !c.gone {
				r.ready(u, sharedv1alpha1.ReasonWaitingUsingDeleted)
			}
		})
	}
}
