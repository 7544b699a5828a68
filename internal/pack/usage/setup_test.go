package usage

import "testing"

// TestShare: while others are worked on, a namespace has a small part of the workers of each controller.
func TestShare(t *testing.T) {
	all := (&parts{ledger: &ledger{}}).controllers(nil)
	if len(all) != 2 {
		t.Errorf("%d controllers, want those of Usages and of locks", len(all))
	}
	for _, c := range all {
		if c.Share == 0 || c.Share > c.Workers/4 {
			t.Errorf("controller %s gives a namespace %d of %d workers", c.Name, c.Share, c.Workers)
		}
	}
}
