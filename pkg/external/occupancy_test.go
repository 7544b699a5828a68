package external

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// TestOccupancy (F8) lists which end of a use requeues a [Busy] deletion.
func TestOccupancy(t *testing.T) {
	subnet, network := Resource{subnets.GroupKind(), "s", "cloud"}, Resource{networks.GroupKind(), "n", "cloud"}
	const ends, stays = true, false
	type use func(name string, ends bool, resources ...Resource) *record
	cases := map[string]struct {
		reason string
		users  func(s *records, use use)
		wakes  bool
	}{
		"a user":             {"it used the subnet", func(_ *records, use use) { use("port", ends, subnet) }, true},
		"one that was moved": {"it stays", func(_ *records, use use) { use("port", stays, subnet) }, true},
		"one of elsewhere":   {"it has nothing to do with it", func(_ *records, use use) { use("port", ends) }, false},
		"a neighbour":        {"it may have used it", func(_ *records, use use) { use("port", ends, network) }, true},
		"one that is not last": {"another one uses it", func(_ *records, use use) {
			use("port", ends, subnet)
			use("other", stays, subnet)
		}, false},
		"a neighbour of one that ends": {"another one may use it", func(_ *records, use use) {
			use("port", ends, network)
			use("other", ends, network)
		}, false},
		"a neighbour of one that stays": {"that one is not waited for", func(_ *records, use use) {
			use("port", ends, network)
			use("other", stays, network)
		}, true},
		"a neighbour of one that waits": {"it may wait for that as well", func(s *records, use use) {
			use("port", ends, network)
			other := use("other", ends, network)
			s.beginDeletion(other, Resource{subnets.GroupKind(), "other", "cloud"}, []Resource{network})
			s.refuseDeletion(other)
		}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var woken []string
			s := newRecords(func(id object.ID) { woken = append(woken, id.Name) })
			use := func(name string, ends bool, resources ...Resource) *record {
				r := s.learn(object.ID{Name: name}, types.UID(name))
				s.use(r, resources, ends)
				return r
			}
			waiter := use("waiter", ends, network)
			c.users(s, use)
			s.beginDeletion(waiter, subnet, []Resource{network})
			s.refuseDeletion(waiter)
			use("port", stays)
			if got := slices.Contains(woken, "waiter"); got != c.wakes || s.isDeletionFree(waiter) != c.wakes {
				t.Errorf("%s: woken %t, free %t", c.reason, got, s.isDeletionFree(waiter))
			}
			woken = nil
			use("port", stays)
			if len(woken) > 0 {
				t.Errorf("woken twice: %v", woken)
			}
			for _, name := range []string{"waiter", "port", "other"} {
				s.forget(s.of(object.ID{Name: name}, types.UID(name)))
			}
			if n := s.size(); n > 0 {
				t.Errorf("%d things are remembered", n)
			}
		})
	}
}
