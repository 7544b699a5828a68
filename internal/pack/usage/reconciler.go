package usage

import (
	"context"

	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinship-dev/kinship/pkg/authorise"
	"github.com/kinship-dev/kinship/pkg/guard"
	"github.com/kinship-dev/kinship/pkg/locked"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
	"github.com/kinship-dev/kinship/pkg/relation"
)

// reconciler takes a Usage from its creation to its end. reconciler runs in the leader.
type reconciler struct {
	*reconcile.Pass[*pass]

	client   client.Client // deletes Usages
	writer   reconcile.Writer
	metadata metadata.Interface
	watcher  *relation.Watcher
	ledger   *ledger
	lock     *guard.Lock
	rules    confirmer
	reviewer *authorise.Reviewer
	events   events.EventRecorder
	ended    *endedEvents
	clock    clock.PassiveClock
	options  Options
	metrics  *metrics
	memories locked.Map[object.ID, *memory]
}

// confirmer confirms that the API server refuses the deletion of locked objects, as guard.Rules does.
type confirmer interface {
	// Confirm tries a deletion without effect (a dry run).
	Confirm(ctx context.Context, obj relation.Object) reconcile.Outcome
	// Confirmed reports whether Confirm was done for the kind of an object.
	Confirmed(obj relation.Object) bool
}

// pass is one pass of the reconciler over one Usage.
type pass struct {
	usage
	id   object.ID
	seen usage // as read or last written, to find the differences
	// memory is the reconciler's memory of this Usage.
	memory *memory
	// waitsForUsing is the outcome of bindUsing that must not keep writeMetadata from writing.
	waitsForUsing reconcile.Outcome
	// deleted says that this pass has deleted the Usage. The watch event of the deletion starts
	// the next pass, so this pass writes no status.
	deleted bool
}

// init gives a reconciler its steps. Writes must be the Writes of the reconciler's writer.
func (r *reconciler) init(writes *reconcile.Writes) *reconciler {
	type step = reconcile.Step[*pass]
	r.Pass = &reconcile.Pass[*pass]{
		Read: r.read, Begin: r.begin, Conclude: r.conclude, Forget: r.forget, Writes: writes,
		Live: []step{
			{Name: "dropUnverified", Run: r.dropUnverified},
			{Name: "checkSpec", Run: r.checkSpec},
			{Name: "chooseObjects", Run: r.chooseObjects},
			{Name: "bindUsing", Run: r.bindUsing},
			{Name: "writeMetadata", Run: r.writeMetadata},
			{Name: "lockUsed", Run: r.lockUsed},
			{Name: "deleteUsingFirst", Run: r.deleteUsingFirst},
		},
		Ending: []step{
			{Name: "dropUnverified", Run: r.dropUnverified},
			{Name: "awaitUsing", Run: r.awaitUsing},
			{Name: "unlockUsed", Run: r.unlockUsed},
			{Name: "replayRefused", Run: r.replayRefused},
			{Name: "removeFinalizer", Run: r.removeFinalizer},
		},
	}
	return r
}

func (r *reconciler) read(_ context.Context, id object.ID) (client.Object, error) {
	return r.ledger.Get(id), nil
}

func (r *reconciler) begin(id object.ID, obj client.Object) *pass {
	u := obj.DeepCopyObject().(usage)
	restoreDetails(u)
	return &pass{
		usage: u, id: id, seen: u.DeepCopyObject().(usage), memory: r.memoryOf(id, u.GetUID()),
	}
}

// forget drops the records of a deleted Usage.
func (r *reconciler) forget(_ context.Context, id object.ID) {
	r.memories.Delete(id)
	r.ledger.Update(id)
}
