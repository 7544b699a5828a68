package usage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// TestReplaysOfOneSecond: a record says in which second a deletion was refused. Another
// one of the same second is carried out as well, once.
func TestReplaysOfOneSecond(t *testing.T) {
	id := object.ID{Kind: "Usage", Name: "u"}
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	record := func(uid types.UID, after time.Duration) sharedv1alpha1.RefusedDeletion {
		refused := sharedv1alpha1.RefusedDeletion{Time: metav1.NewTime(second.Add(after))}
		refused.Target.UID = uid
		return refused
	}
	first, same, other, later := record("a", 0), record("a", 0), record("b", 0), record("a", time.Second)
	var r replays
	if r.done(id, &first) {
		t.Error("done before it was done")
	}
	r.did(id, &first)
	r.keep(id, []sharedv1alpha1.RefusedDeletion{first, other}) // The status could not be written.
	if !r.done(id, &first) || r.done(id, &other) || r.done(id, &later) {
		t.Error("what was done is not known by its object and its time")
	}
	r.keep(id, []sharedv1alpha1.RefusedDeletion{other}) // It could, and is refused again.
	if r.done(id, &same) {
		t.Error("a record of the same second is taken for the one before")
	}
}
