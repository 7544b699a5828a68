package lists_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kinship-dev/kinship/pkg/lists"
)

// TestDecrease: a count of 0 is removed, and an unknown key adds none.
func TestDecrease(t *testing.T) {
	counts := map[string]int{"once": 1, "twice": 2}
	for _, key := range []string{"once", "twice", "never"} {
		lists.Decrease(counts, key)
	}
	if diff := cmp.Diff(map[string]int{"twice": 1}, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
