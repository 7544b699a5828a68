package external

import (
	"context"
	"slices"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/reconcile"
)

// awaitFinalizers waits until the operator's finalizer is the last. The other finalizers are guards. The
// outcome names a source for each guard: a deleted Network waits for Subnet/blue. memory.named keeps the
// choice of Subnet/blue until Subnet/blue no longer refers to the Network. Otherwise the status of a
// Network with 100 Subnets would be written 100 times. Guards of owned sources ([Kind.Cascades]) are
// skipped (reconciler.outside in cascade.go).
func (r *reconciler[K, R]) awaitFinalizers(_ context.Context, p *pass[K, R]) reconcile.Outcome {
	var outcome reconcile.Outcome
	before, now := p.record.named, heldBy{}
	for _, name := range p.Object.GetFinalizers() {
		if name == r.finalizer {
			continue
		}
		sources := r.engine.core.Sources(p.id, name)
		if len(sources) > 0 {
			if sources = r.outside(p, sources); len(sources) == 0 {
				continue
			}
		}
		if len(sources) == 0 {
			outcome = outcome.And(reconcile.Wait(condition.ReasonInUse,
				"Waiting for finalizer %s to be removed", name))
			continue
		}
		chosen := sources[0]
		if last := before[name]; slices.Contains(sources, last) {
			chosen = last
		}
		now[name] = chosen
		outcome = outcome.And(reconcile.Wait(condition.ReasonInUse,
			"Waiting for %s to be deleted: it holds finalizer %s", chosen.Short(), name))
	}
	p.record.named = now
	return outcome
}
