package guards

import (
	"cmp"
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/internal/pack"
	"github.com/kinship-dev/kinship/pkg/object"
)

// guardState says whether a guard is missing or altered.
type guardState string

const (
	missing guardState = "missing"
	// Altered is the state of a guard that is weaker than its template.
	Altered guardState = "altered"
)

// Fault is a guard that is not in force, such as the ValidatingAdmissionPolicy
// kinship-openstack-secrets.
type Fault struct {
	ID    object.ID
	State guardState
}

// names returns the faults as text, such as "ValidatingAdmissionPolicy kinship-openstack-secrets is
// missing".
func names(faults []Fault) []string {
	all := make([]string, 0, len(faults))
	for _, f := range faults {
		all = append(all, keyOf(f.ID)+" "+string(f.State))
	}
	return all
}

func countFaults(faults []Fault, state guardState) int {
	n := 0
	for _, f := range faults {
		if f.State == state {
			n++
		}
	}
	return n
}

// SortedIDs returns the IDs of templates, sorted by kind and name.
func SortedIDs(templates map[object.ID]client.Object) []object.ID {
	return slices.SortedFunc(maps.Keys(templates), func(a, b object.ID) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// Comparison says how the guards in the cluster differ from their templates.
type Comparison struct {
	Faults []Fault
	live   map[object.ID]client.Object
	Unseen []object.ID // guards that the reader has no right to read
}

// Compare reads the guards and compares them with their templates.
func Compare(
	ctx context.Context, reader client.Reader, recorder Recorder, templates map[object.ID]client.Object,
) (Comparison, error) {
	found := Comparison{live: map[object.ID]client.Object{}}
	for _, id := range SortedIDs(templates) {
		live, err := Read(ctx, reader, templates[id])
		switch {
		case apierrors.IsForbidden(err):
			// An installation of an earlier release gives no right to get a
			// ValidatingAdmissionPolicy.
			found.Unseen = append(found.Unseen, id)
			continue
		case err != nil:
			return found, err
		case live == nil:
			found.Faults = append(found.Faults, Fault{id, missing})
			continue
		}
		found.live[id] = live
		if !pack.Altered(live, templates[id]) {
			continue
		}
		// record.Installed has the digest of a guard that another release has installed in this
		// form.
		known, _, err := recorder.read(ctx)
		if err != nil {
			return found, err
		}
		if pack.Force(live, templates[id]) != known.Installed[keyOf(id)] {
			found.Faults = append(found.Faults, Fault{id, Altered})
		}
	}
	return found, nil
}
