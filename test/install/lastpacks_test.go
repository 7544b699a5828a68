package install_test

import (
	"slices"
	"testing"

	"github.com/kinship-dev/kinship/internal/install"
	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/test/operator"
)

// TestLastPacks: an operator for which nobody chooses packs runs those of the last installation. A first installation
// is deletion protection alone.
func TestLastPacks(t *testing.T) {
	removeAll(t)
	expect := func(reason string, want ...string) {
		t.Helper()
		got, err := install.LastPacks(t.Context(), operator.Client(t))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: packs %v, want %v, %v", reason, got, want, err)
		}
	}
	expect("nothing is installed", "usage")
	for _, packs := range [][]string{{"iot", "oam"}, {"usage", "iot", "oam"}, {"oam"}} {
		o := optionsFor(t)
		o.Packs = packs
		if err := install.Install(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		expect("after an installation", packs...)
	}
	removeAll(t)
	expect("everything was removed", options.FirstPacks()...)
}
