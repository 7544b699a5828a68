package external

import (
	"context"
	"slices"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// awaitFinalizers waits until the operator's finalizer is the last one. The other finalizers are
// guards: the outcome names one source of each, and the same one as before while that one holds
// the object. An object that waits for a hundred sources need not be written each time.
func (r *reconciler[K, R]) awaitFinalizers(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	var outcome reconcile.Outcome
	before, now := p.record.named, heldBy{}
	for _, name := range p.Object.GetFinalizers() {
		if name == r.finalizer {
			continue
		}
		sources := r.engine.core.Sources(p.id, name)
		if len(sources) == 0 {
			outcome = outcome.And(reconcile.Wait(condition.ReasonProgressing,
				"Waiting for finalizer %s to be removed", name))
			continue
		}
		chosen := sources[0]
		if last := before[name]; slices.Contains(sources, last) {
			chosen = last
		}
		now[name] = chosen
		outcome = outcome.And(reconcile.Wait(condition.ReasonProgressing,
			"Waiting for %s to be deleted: it holds finalizer %s", chosen.Short(), name))
	}
	p.record.named = now
	return outcome
}
