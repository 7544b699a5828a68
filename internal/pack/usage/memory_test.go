package usage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// TestReplaysOfOneSecond: the time of a record has no fractions of seconds. Two records of one
// second are both replayed, once each.
func TestReplaysOfOneSecond(t *testing.T) {
	second := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	record := func(uid types.UID, after time.Duration) sharedv1alpha1.RefusedDeletion {
		refused := sharedv1alpha1.RefusedDeletion{Time: metav1.NewTime(second.Add(after))}
		refused.Target.UID = uid
		return refused
	}
	first, same, other, later := record("a", 0), record("a", 0), record("b", 0), record("a", time.Second)
	var m memory
	if m.isReplayed(&first) {
		t.Error("replayed before it was replayed")
	}
	m.remember(&first)
	m.prune([]sharedv1alpha1.RefusedDeletion{first, other}) // The status could not be written.
	if !m.isReplayed(&first) || m.isReplayed(&other) || m.isReplayed(&later) {
		t.Error("a replayed record is not known by its object and its time")
	}
	m.prune([]sharedv1alpha1.RefusedDeletion{other}) // The status was written, and the deletion refused again.
	if m.isReplayed(&same) {
		t.Error("a record of the same second is taken for the one before")
	}
}

// TestMemories: a memory is kept for the Usage with one uid, until the Usage is forgotten.
func TestMemories(t *testing.T) {
	var r reconciler
	id := object.ID{Kind: "Usage", Name: "u"}
	first := r.memoryOf(id, "1")
	first.deleted = true
	if r.memoryOf(id, "1").deleted {
		t.Error("a memory is kept before it is stored")
	}
	r.memories.Store(id, first)
	if !r.memoryOf(id, "1").deleted || r.memoryOf(id, "2").deleted {
		t.Error("the memory is not that of the Usage with uid 1")
	}
	r.memories.Delete(id)
	if r.memoryOf(id, "1").deleted {
		t.Error("the memory outlives the Usage")
	}
}
