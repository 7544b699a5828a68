package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Applier applies the objects of parents, such as the Deployments of an IotConnector, with
// server-side apply. An Applier is safe for concurrent use if no two goroutines work on the same
// parent.
type Applier struct {
	// Client writes to the API server, and reads from the API server where Applier.View is not
	// enough. Client MUST NOT read from a cache.
	Client client.Client
	// FieldOwner is the fieldManager of every object that has no Object.FieldOwner.
	FieldOwner string
	// View shows the objects of every kind in Request.Want, such as Stores of informers.
	View View
	// Rivals, if set, tells which fields the Applier leaves to other field managers (Change.Left). With nil, the
	// Applier takes back fields in every call of [Applier.Apply].
	Rivals *Rivals
	// Clock measures how long Applier.View lags behind. Nil means the system's clock.
	Clock clock.PassiveClock

	recent recent
}

func (a *Applier) now() time.Time {
	if a.Clock == nil {
		return time.Now()
	}
	return a.Clock.Now()
}

// Request is the input of Applier.Apply: inventory and wanted objects of one parent.
type Request struct {
	// Owner refers to the parent. The parent becomes the controller of every object that is
	// not Object.Unowned.
	Owner metav1.OwnerReference
	// Namespace of the parent. Namespace is only needed for objects that are Object.Unowned.
	Namespace string
	// Have is the inventory that was recorded last, or Result.Inventory of an earlier call.
	Have []Entry
	// Want are the objects that exist afterwards. Their managedFields, uid and
	// resourceVersion MUST be empty.
	Want []Object
	// Skip names objects of Request.Have that this call leaves as before: such an object is
	// neither applied nor pruned. An example is a Deployment that can't be rendered in this pass,
	// because the Secret with its password does not exist yet. Skip wins over Want.
	Skip []object.ID
	// Record persists an inventory, for example in the parent's status. Apply calls Record
	// before Apply creates an object that is not in Have, or applies another content than
	// Entry.Hash of Have says. Record MUST return an error unless the inventory is persisted.
	Record func(ctx context.Context, inventory []Entry) error
	// MayPrune decides, after all of Request.Want was applied, whether objects that are only in
	// Request.Have may be deleted now. Nil means yes.
	MayPrune func() bool
}

// Result is the result of Applier.Apply or Applier.Delete.
type Result struct {
	// Inventory is to be recorded by the caller in the next write of status.inventory. If the
	// process ends before that, the inventory that Request.Record persisted is sufficient.
	Inventory []Entry
	// Changes holds the Change of each object, for logs and events (ChangeSet.String).
	Changes ChangeSet
	// Recheck is the time after which the caller must call again, because Applier.View did not
	// show an own write yet. Zero means that events of Applier.View are enough.
	Recheck time.Duration
}

// Apply creates and changes the objects in Request.Want, and prunes objects in Request.Have that
// are no longer in Request.Want. If an object fails, the other objects of its wave are still
// applied, but no later wave is applied and nothing is pruned. The Result is valid also with an
// error.
func (a *Applier) Apply(ctx context.Context, r Request) (Result, error) {
	want, err := a.prepare(r)
	if err != nil {
		return Result{Inventory: r.Have}, err
	}
	all, news := intend(r.Have, want)
	result := Result{Inventory: all}
	p := pass{Applier: a, request: r, result: &result}
	if news {
		p.dropNeverCreated(ctx)
		if err := r.Record(ctx, slices.Clone(result.Inventory)); err != nil {
			return Result{Inventory: r.Have}, fmt.Errorf("record the inventory: %w", err)
		}
	}
	for _, e := range result.Inventory {
		if p.skips(e.ID) {
			p.did(e.ID, Skipped)
		}
	}
	if done, err := p.applyWaves(ctx, want); err != nil || !done {
		return result, err
	}
	return result, p.prune(ctx)
}

// pass is one call of Applier.Apply or Applier.Delete.
type pass struct {
	*Applier

	request Request
	result  *Result
	// final is set by Applier.Delete: the parent has a metadata.deletionTimestamp.
	final bool
}

func (p pass) skips(id object.ID) bool { return slices.Contains(p.request.Skip, id) }

// applyWaves applies the wanted objects, wave by wave, and reports whether every object was
// applied.
func (p pass) applyWaves(ctx context.Context, want []desired) (bool, error) {
	var failed []error
	for i, o := range want {
		if i > 0 && o.Wave != want[i-1].Wave && p.stopped() {
			p.reportObstacles(want[i:])
			break
		}
		entry := &p.result.Inventory[find(p.result.Inventory, o.ID())]
		action, err := p.applyOne(ctx, o, entry)
		if err != nil {
			failed = append(failed, fmt.Errorf("apply %s: %w", o.ID(), err))
			action = Failed
		}
		change := Change{ID: o.ID(), Action: action}
		if action == Created || action == Updated || action == Unchanged {
			change.Left = entry.Left
		}
		p.tell(change)
	}
	return !p.stopped(), errors.Join(failed...)
}

// reportObstacles reports the objects of later waves that are Foreign or Terminating, so that
// a status lists every obstacle at once. Only Applier.View is consulted.
func (p pass) reportObstacles(later []desired) {
	for _, o := range later {
		seen := p.look(o.ID(), o.FieldOwner)
		entry := p.result.Inventory[find(p.result.Inventory, o.ID())]
		if action := p.decide(seen, entry, o); action == Foreign || action == Terminating {
			p.did(o.ID(), action)
		}
	}
}

// stopped reports whether pass.result has an object that is Failed, Foreign or Terminating.
func (p pass) stopped() bool { return len(p.result.Changes.Of(Failed, Foreign, Terminating)) > 0 }

func (p pass) did(id object.ID, action Action) { p.tell(Change{ID: id, Action: action}) }

func (p pass) tell(c Change) { p.result.Changes = append(p.result.Changes, c) }

// recheck has the caller call again when Applier.View should show the own writes.
func (p pass) recheck() { p.result.Recheck = patience }
