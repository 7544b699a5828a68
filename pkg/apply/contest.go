package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// contestedError says that an object was not written, because another field manager sets the same
// fields again and again.
type contestedError struct{ message string }

// Error implements error.
func (e *contestedError) Error() string { return e.message }

// Rivals remembers which field managers have set fields that a writer applies, by object. A writer takes
// fields back once. If a manager sets fields again within Rivals.Within, the writer leaves fields to that
// manager until the spec of the writer changes, however long that takes. Rivals is safe for concurrent use
// if no two goroutines work on the same object.
type Rivals struct {
	Client client.Client
	// Within is how soon after Applier.Apply took fields back a field manager is a rival if the
	// manager sets fields again.
	Within time.Duration
	// Clock measures Rivals.Within. Nil means the system's clock.
	Clock clock.PassiveClock

	contests sync.Map // of contest by the key of an object
}

// contest has the entries of metadata.managedFields from which the fields of an object were taken
// back, for one spec.
type contest struct {
	spec     string
	managers map[string]rival
}

// rival is one field manager.
type rival struct {
	// takenBack is when fields were last taken back from the manager. yielded says that they are left to
	// the manager.
	takenBack time.Time
	yielded   bool
}

// Applied records that a spec was applied to an object, and forgets the rivals under another spec. spec
// is a text that changes with the spec, such as a hash.
func (r *Rivals) Applied(key any, spec string) {
	if before, ok := r.contests.Load(key); !ok || before.(contest).spec != spec {
		r.contests.Store(key, contest{spec: spec})
	}
}

// Forget forgets an object.
func (r *Rivals) Forget(key any) { r.contests.Delete(key) }

// TakeBack returns an error that names the fields of want that are left to other field managers, or nil
// if want may be applied with force. TakeBack asks the API server by a dry run without force. Before the
// first Rivals.Applied for a spec nothing is taken back, and TakeBack returns nil.
func (r *Rivals) TakeBack(
	ctx context.Context, key any, spec string, want *unstructured.Unstructured, fieldOwner string,
) error {
	before, ok := r.contests.Load(key)
	if !ok || before.(contest).spec != spec {
		return nil
	}
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want.DeepCopy()),
		client.FieldOwner(fieldOwner), client.DryRunAll)
	rivals := rivalsIn(err)
	if len(rivals) == 0 {
		return nil // The fields were removed or have the wanted values, or the real apply gets the same error.
	}
	now := time.Now()
	if r.Clock != nil {
		now = r.Clock.Now()
	}
	managers := maps.Clone(before.(contest).managers)
	if managers == nil {
		managers = map[string]rival{}
	}
	var again []string
	for _, manager := range slices.Sorted(maps.Keys(rivals)) {
		last := managers[manager]
		last.yielded = last.yielded || now.Sub(last.takenBack) < r.Within
		if last.yielded {
			again = append(again, fmt.Sprintf("%s sets %s", manager, strings.Join(rivals[manager], ", ")))
		}
		managers[manager] = rival{now, last.yielded}
	}
	r.contests.Store(key, contest{spec, managers})
	if len(again) > 0 {
		return &contestedError{fmt.Sprintf("field manager %s again, and so does %s: neither is overwritten any more",
			strings.Join(again, "; "), fieldOwner)}
	}
	return nil
}

// isDrift reports whether an object differs from the wanted one only because other clients have
// changed its fields.
func isDrift(seen sight, entry Entry, sum string) bool {
	return entry.UID == seen.UID && entry.Hash == sum && entry.Mark != "" && entry.Mark != seen.Mark
}

// takeBack is Rivals.TakeBack for an object that the Applier has applied before (isDrift).
func (p pass) takeBack(ctx context.Context, o desired, uid types.UID) error {
	sent := o.DeepCopy()
	sent.SetUID(uid)
	p.Rivals.Applied(uid, o.hash)
	return p.Rivals.TakeBack(ctx, uid, o.hash, sent, o.FieldOwner)
}

// rivalsIn returns the fields that other field managers have set, by the manager, as the API server
// reports them for an apply without force.
func rivalsIn(err error) map[string][]string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	rivals := map[string][]string{}
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		// conflict with "kubectl-edit" using apps/v1
		_, rest, _ := strings.Cut(cause.Message, `"`)
		manager, _, _ := strings.Cut(rest, `"`)
		rivals[manager] = append(rivals[manager], strings.TrimPrefix(cause.Field, "."))
	}
	return rivals
}
