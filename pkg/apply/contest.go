package apply

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

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

// TakeBack returns the fields of want that are left to other field managers, or nil if want may be applied with force.
// TakeBack asks the API server by a dry run without force. Before the first Rivals.Applied for a spec nothing is taken
// back, and TakeBack returns nil.
func (r *Rivals) TakeBack(
	ctx context.Context, key any, spec string, want *unstructured.Unstructured, fieldOwner string,
) []Left {
	before, ok := r.contests.Load(key)
	if !ok || before.(contest).spec != spec {
		return nil
	}
	err := r.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(want.DeepCopy()),
		client.FieldOwner(fieldOwner), client.DryRunAll)
	set := leftIn(err)
	if len(set) == 0 {
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
	former := maps.Clone(managers)
	for _, l := range set {
		last := former[l.Manager]
		managers[l.Manager] = rival{now, last.yielded || now.Sub(last.takenBack) < r.Within}
	}
	r.contests.Store(key, contest{spec, managers})
	return slices.DeleteFunc(set, func(l Left) bool { return !managers[l.Manager].yielded })
}

// isDrift reports whether an object differs from the wanted one only because other clients have
// changed its fields.
func isDrift(seen sight, entry Entry, o desired) bool {
	return entry.UID == seen.UID && entry.Hash == o.hash && entry.Mark != "" && entry.Mark != seen.Mark
}

// takeBack returns the fields that are left to other field managers (Rivals.TakeBack) of an object that differs from
// the wanted one only because other clients have changed its fields.
func (p pass) takeBack(ctx context.Context, o desired, seen sight, entry Entry) []Left {
	if o.Yields || p.Rivals == nil || !isDrift(seen, entry, o) {
		return nil
	}
	sent := o.DeepCopy()
	sent.SetUID(seen.UID)
	p.Rivals.Applied(seen.UID, o.hash)
	return p.Rivals.TakeBack(ctx, seen.UID, o.hash, sent, o.FieldOwner)
}
