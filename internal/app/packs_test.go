package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPackNamedTwice names a pack twice, as two flags --packs do.
func TestPackNamedTwice(t *testing.T) {
	chosen, err := choose(Options{Packs: []string{"usage", "iot", "usage"}})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(chosen))
	for _, p := range chosen {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"usage", "iot"}, names); diff != "" {
		t.Errorf("packs (-want +got):\n%s", diff)
	}
}
