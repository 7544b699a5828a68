package oam

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	oamv1alpha2 "github.com/kinship-dev/kinship/api/oam/v1alpha2"
	"github.com/kinship-dev/kinship/pkg/object"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// pass is the state of one pass over an object of the pack.
type pass[T client.Object] struct {
	id object.ID
	// The steps change obj; recorded is the object as the cache has it.
	obj, recorded T
	// left says which fields of the object's children are left to other field managers.
	left string
}

// controller reconciles one kind of the pack.
type controller[T client.Object] struct {
	*environment

	writer reconcile.Writer
	// status returns the ConditionedStatus of an object.
	status func(T) *oamv1alpha2.ConditionedStatus
	steps  []reconcile.Step[*pass[T]]
	// forget drops the records of a deleted object that only this kind has (see environment.drop).
	// forget may be nil.
	forget func(id object.ID)
}

func (e *environment) writerOf(writes *reconcile.Writes) reconcile.Writer {
	return reconcile.Writer{Client: e.live, FieldOwner: fieldOwner, Writes: writes}
}

// pass returns the reconcile.Pass of a kind: the steps, and then one write of the status.
func (c controller[T]) pass() *reconcile.Pass[*pass[T]] {
	return &reconcile.Pass[*pass[T]]{
		Read: c.read, Live: c.steps, Writes: c.writer.Writes,
		Begin: func(id object.ID, obj client.Object) *pass[T] {
			return &pass[T]{id: id, obj: obj.DeepCopyObject().(T), recorded: obj.(T)}
		},
		Conclude: func(ctx context.Context, p *pass[T], outcome reconcile.Outcome) reconcile.Outcome {
			if outcome.IsPassing() || p.obj.GetDeletionTimestamp() != nil {
				return outcome
			}
			setSynced(c.status(p.obj), outcome, p.left)
			_, err := c.writer.Status(ctx, p.id, p.recorded, p.obj, false)
			return outcome.And(reconcile.Fail(reasonError, client.IgnoreNotFound(err)))
		},
		Forget: func(_ context.Context, id object.ID) {
			c.drop(id)
			if c.forget != nil {
				c.forget(id)
			}
		},
	}
}

// read implements reconcile.Pass.Read for every kind.
func (e *environment) read(_ context.Context, id object.ID) (client.Object, error) {
	return e.engine.Get(id), nil
}

// drop drops the records of a deleted object that every kind has.
func (e *environment) drop(id object.ID) {
	e.workloads.Units(id)
	e.engine.WaitFor(id)
	e.inventories.Delete(id)
	e.traited.Delete(id)
}
