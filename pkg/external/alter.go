package external

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
)

// noteAlteration records that another object changed the object's resource. A restart loses
// record.altered; the comparison after the resync period then finds the change.
func (r *record) noteAlteration(at time.Time) { r.altered.Store(&at) }

// popAlteration returns record.altered and resets the field.
func (r *record) popAlteration() time.Time { return ptr.Deref(r.altered.Swap(nil), time.Time{}) }

// requeueAltered requeues an object of a kind of the [Engine]. The object reads its resource even if
// endIfSettled would skip the read.
func (e *Engine) requeueAltered(id object.ID) {
	if obj := e.core.Get(id); obj != nil && e.kindOf(id.GroupKind()) != nil {
		e.records.of(id, obj.GetUID()).noteAlteration(e.Clock.Now())
		e.core.Requeue(id)
	}
}

// use adds to status.observedDependencies the targets that the resource is about to use. Older entries are
// kept, because the resource may still use their targets. The entry of a Secret has the resourceVersion
// that was used.
func (p *pass[K, R]) use() {
	status := p.status()
	for _, t := range p.Refs.Targets() {
		d, ok := observedTarget(t)
		if ok && p.managed() && !t.IsMetadata() && !slices.Contains(status.ObservedDependencies, d) {
			status.ObservedDependencies = append(slices.Clone(status.ObservedDependencies), d)
		}
	}
}

// altered reports whether a resource was updated, began to serve, or uses other resources
// (status.observedDependencies) than before the pass.
func (r *reconciler[K, R]) altered(p *pass[K, R]) bool {
	before := p.before.GetExternalStatus()
	return p.corrected || !meta.IsStatusConditionTrue(before.Conditions, condition.Available) ||
		!slices.Equal(before.ObservedDependencies, p.status().ObservedDependencies)
}

// alter requeues the objects of [Kind.Alters] that the resource uses, or used before the pass. For
// example, a Server requeues its Ports.
func (r *reconciler[K, R]) alter(p *pass[K, R]) {
	if len(r.kind.Alters) == 0 || !p.managed() {
		return
	}
	used := slices.Concat(p.before.GetExternalStatus().ObservedDependencies, p.status().ObservedDependencies)
	for d := range sets.New(used...) {
		i := slices.IndexFunc(r.kind.Alters, func(gk schema.GroupKind) bool { return gk.Kind == d.Kind })
		if i >= 0 {
			r.engine.requeueAltered(object.ID{
				Group: r.kind.Alters[i].Group, Kind: d.Kind, Namespace: p.id.Namespace, Name: d.Name,
			})
		}
	}
}
