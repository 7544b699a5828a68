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

// Applier applies in the name of one field owner. It is safe for concurrent use,
// as long as each parent is in one hand at a time.
type Applier struct {
	// Client writes, and reads live where the view is not enough.
	Client client.Client
	// FieldOwner is the name that the API server keeps with the fields that were
	// applied.
	FieldOwner string
	// View shows the objects of all kinds that are applied.
	View View
	// Clock says for how long to wait for a View that is late. Nil means the real time.
	Clock clock.PassiveClock

	recent recent
}

func (a *Applier) now() time.Time {
	if a.Clock == nil {
		return time.Now()
	}
	return a.Clock.Now()
}

// Request is what a parent has and wants.
type Request struct {
	// Owner is the reference to the parent. It becomes the controller of every
	// object.
	Owner metav1.OwnerReference
	// Have is the inventory as it was recorded last, or a Result's that is to be recorded.
	Have []Entry
	// Want are the objects to be there afterwards. Their managed fields, uid and
	// resourceVersion MUST be empty.
	Want []Object
	// Record persists an inventory. It is called before an object is created that
	// Have does not hold, or changed from what Have says, and MUST fail unless the
	// inventory is safe.
	Record func(ctx context.Context, inventory []Entry) error
	// MayPrune is asked, after everything was applied, whether what is not wanted
	// may go. Nil means yes.
	MayPrune func() bool
}

// Result is what an applier has done.
type Result struct {
	// Inventory is to be recorded by the caller, together with whatever else he has
	// to write. Until then the one recorded before is good enough to go on from.
	Inventory []Entry
	// Changes tells what was done.
	Changes ChangeSet
	// Recheck is when to look again at what the view should show by then. Zero
	// means never: what happens next will be seen.
	Recheck time.Duration
}

// Apply makes the wanted objects what they should be, and prunes what is in the
// inventory and not wanted. Objects that fail don't keep those of the same wave
// from being applied, but those of later waves, and pruning. The result is valid
// also when there is an error.
func (a *Applier) Apply(ctx context.Context, r Request) (Result, error) {
	want, err := prepare(r.Want, r.Owner)
	if err != nil {
		return Result{Inventory: r.Have}, err
	}
	all, news := intend(r.Have, want)
	result := Result{Inventory: all}
	p := pass{Applier: a, request: r, result: &result}
	if news {
		p.sift(ctx)
		if err := r.Record(ctx, slices.Clone(result.Inventory)); err != nil {
			return Result{Inventory: r.Have}, fmt.Errorf("record the inventory: %w", err)
		}
	}
	if done, err := p.applyWaves(ctx, want); err != nil || !done {
		return result, err
	}
	return result, p.prune(ctx)
}

// pass is one call of Apply or Delete.
type pass struct {
	*Applier

	request Request
	result  *Result
	// final says that the parent is being deleted.
	final bool
}

// applyWaves applies what is wanted, wave by wave, and reports whether all of it
// is as it should be.
func (p pass) applyWaves(ctx context.Context, want []desired) (bool, error) {
	var failed []error
	for i, o := range want {
		if i > 0 && o.Wave != want[i-1].Wave && p.stopped() {
			p.foresee(want[i:])
			break
		}
		entry := &p.result.Inventory[find(p.result.Inventory, o.ID())]
		action, err := p.applyOne(ctx, o, entry)
		if err != nil {
			failed = append(failed, fmt.Errorf("apply %s: %w", o.ID(), err))
			action = Failed
		}
		p.did(o.ID(), action)
	}
	return !p.stopped(), errors.Join(failed...)
}

// foresee tells of what is in the way of objects that are not applied yet, so that all of it
// is named at once. Objects that no watch has shown are not looked for.
func (p pass) foresee(later []desired) {
	for _, o := range later {
		seen := p.recent.look(p.View, o.ID(), p.now())
		entry := p.result.Inventory[find(p.result.Inventory, o.ID())]
		if action := p.decide(seen, entry, o.hash); action == Foreign || action == Terminating {
			p.did(o.ID(), action)
		}
	}
}

// stopped reports whether something is not as it should be.
func (p pass) stopped() bool { return len(p.result.Changes.Of(Failed, Foreign, Terminating)) > 0 }

func (p pass) did(id object.ID, action Action) { p.tell(Change{ID: id, Action: action}) }

func (p pass) tell(c Change) { p.result.Changes = append(p.result.Changes, c) }

// recheck asks to be called again once the view should have caught up.
func (p pass) recheck() { p.result.Recheck = patience }
