package usage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	protectionv1beta1 "github.com/kinship-dev/kinship/api/protection/v1beta1"
	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// refuseDeletion records a refused deletion in the status of a Usage, as deletionHandler does.
func (r *rig) refuseDeletion(u *protectionv1beta1.Usage, used relation.Object, at time.Time) {
	r.t.Helper()
	err := changeStatus(r.t.Context(), r.c, r.c, u, func(status *sharedv1alpha1.UsageStatus) {
		status.Refused = []sharedv1alpha1.RefusedDeletion{{Target: bindTo(used), User: "alice", Time: metav1.NewTime(at)}}
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.await(u)
}

// TestReplayRefused: a recorded deletion is replayed when its Usage goes, unless the record has
// expired or is of another object.
func TestReplayRefused(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	cases := map[string]struct {
		reason string
		uid    string
		at     time.Time
		gone   bool
	}{
		"recorded":       {"alice asked for it", "", now, true},
		"expired":        {"alice has forgotten it", "", now.Add(-48 * time.Hour), false},
		"another object": {"alice meant the former object", "former", now, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			used, u := configMap("used"), uses("u")
			r.create(configMap("using"), used)
			r.protect(u)
			target := relation.ObjectOf(configMapID(used).GroupKind(), used)
			if c.uid != "" {
				target.UID = "former"
			}
			r.refuseDeletion(u, target, c.at)
			r.clock = clocktesting.NewFakePassiveClock(now.Add(2 * time.Hour))
			r.delete(u)
			if r.pass(u) {
				t.Errorf("the Usage still exists: %+v", u.Status)
			}
			if exists := r.read(used); exists == c.gone {
				t.Errorf("%s: the object exists: %t", c.reason, exists)
			}
		})
	}
}

// TestHandOver: a record goes to another Usage with replayDeletion that protects the object.
func TestHandOver(t *testing.T) {
	r := newRig(t)
	used, first, heir := configMap("used"), uses("first"), uses("heir")
	heir.Spec.ReplayDeletion = new(true)
	r.create(configMap("using"), used)
	r.protect(first)
	r.protect(heir)
	now := time.Now().Truncate(time.Second)
	r.refuseDeletion(first, relation.ObjectOf(configMapID(used).GroupKind(), used), now)
	r.clock = clocktesting.NewFakePassiveClock(now.Add(2 * time.Hour))
	r.delete(first)
	r.pass(first)
	if r.read(heir); len(heir.Status.Refused) != 1 || heir.Status.Refused[0].User != "alice" {
		t.Errorf("the records of Usage heir are %+v", heir.Status.Refused)
	}
	if !r.read(used) {
		t.Error("the object was deleted although Usage heir protects it")
	}
}

// TestHasNewRecord: only a record that was added starts a pass.
func TestHasNewRecord(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	a := sharedv1alpha1.RefusedDeletion{Target: boundObject{Name: "a", UID: "a"}, Time: at}
	b := sharedv1alpha1.RefusedDeletion{Target: boundObject{Name: "b", UID: "b"}, Time: at}
	status := func(records ...sharedv1alpha1.RefusedDeletion) *sharedv1alpha1.UsageStatus {
		return &sharedv1alpha1.UsageStatus{Refused: records}
	}
	if hasNewRecord(status(a, b), status(a)) || hasNewRecord(status(a), status(a)) {
		t.Error("a removed record counts as new")
	}
	if !hasNewRecord(status(a), status(a, b)) || !hasNewRecord(status(), status(a)) {
		t.Error("an added record does not count as new")
	}
}
