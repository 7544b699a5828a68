package external

import (
	"testing"
	"time"

	openstackv1alpha1 "github.com/kinship-dev/kinship/api/openstack/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/object"
)

// size returns the number of entries in all maps of records.
func (s *records) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all) + len(s.claims) + len(s.wishes) + len(s.sharers) + len(s.users) + len(s.near) +
		len(s.attempts) + len(s.strays) + len(s.sequences)
}

// TestForget: records keeps no entry of a forgotten object, even if a running pass records facts
// afterwards.
func TestForget(t *testing.T) {
	var woken []string
	s := newRecords(func(id object.ID) { woken = append(woken, id.Name) })
	what, key := Resource{networks.GroupKind(), "1", "cloud"}, cloudKey{networks.GroupKind(), "cloud", "key"}
	fill := func(r *record) {
		s.claim(r, claimed{what, r.id.Name, what.ID}, false)
		s.isUsedElse(r, Resource{networks.GroupKind(), "2", "cloud"})
		s.joinShare(r, key)
		s.use(r, []Resource{what}, true)
		s.beginDeletion(r, what, []Resource{what})
		r.noteAlteration(time.Now())
		s.startAttempt(r, cloudKey{networks.GroupKind(), "cloud", "name"}, time.Now())
		s.keepStray(r, &openstackv1alpha1.Network{})
		s.beginCreation(r, key)
		s.reserveChange(r, cloudKey{cloud: "cloud", key: "place"})
	}
	a, b := s.learn(object.ID{Name: "a"}, "a"), s.learn(object.ID{Name: "b"}, "b")
	fill(a)
	fill(b)
	if !b.awaits || a.awaits {
		t.Error("two objects create one resource at the same time")
	}
	s.forget(a)
	if len(woken) == 0 || woken[len(woken)-1] != "b" {
		t.Errorf("woken after the end of the creator: %v", woken)
	}
	s.forget(b)
	fill(a)
	fill(s.of(b.id, b.uid))
	if n := s.size(); n > 0 {
		t.Errorf("%d things are remembered", n)
	}
}
