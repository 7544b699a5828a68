package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/internal/options"
	"github.com/kinship-dev/kinship/internal/pack"
)

// TestPackNamedTwice names a pack twice, as two flags --packs do.
func TestPackNamedTwice(t *testing.T) {
	chosen, err := options.ChosenPacks(options.Options{Packs: []string{"usage", "iot", "usage"}})
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

// TestSameObjects makes the objects that Install applies again and again. An object that differs from
// time to time would be written at each start, and two replicas would take each other's for altered.
func TestSameObjects(t *testing.T) {
	for _, by := range []pack.Enforcement{pack.ByWebhook, pack.ByPolicy} {
		o := options.Options{Enforcement: by, Namespaces: []string{"one", "two"}}
		first, err := ObjectsBesideDefinitions(o, true)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			again, err := ObjectsBesideDefinitions(o, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, again); diff != "" {
				t.Fatalf("with --enforcement=%s (-first +again):\n%s", by, diff)
			}
		}
	}
}

// TestKindsOfOtherPacks: applications act on no kind of another pack.
func TestKindsOfOtherPacks(t *testing.T) {
	var o options.Options
	o.Oam.Kinds = []schema.GroupResource{{Group: "services.azurehealthcareapis.com", Resource: "iotconnectors"}}
	const want = "the pack oam can't act on iotconnectors.services.azurehealthcareapis.com"
	if _, err := o.WithDefaults(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	o.Oam.Kinds = []schema.GroupResource{{Group: "standard.oam.dev", Resource: "mydbs"}}
	if _, err := o.WithDefaults(); err != nil {
		t.Error(err)
	}
}
