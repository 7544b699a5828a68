package external

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	sharedv1alpha1 "github.com/kinship-dev/kinship/api/shared/v1alpha1"
	"github.com/kinship-dev/kinship/pkg/condition"
	"github.com/kinship-dev/kinship/pkg/object"
)

// alterations are the objects whose resources were changed through those of
// others, and when. They are lost at a restart: the next comparison finds what
// they would have.
type alterations struct {
	mu  sync.Mutex
	all map[object.ID]time.Time
}

func (a *alterations) note(id object.ID, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[object.ID]time.Time{}
	}
	a.all[id] = at
}

// take returns when an object's resource was changed, and forgets it.
func (a *alterations) take(id object.ID) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.all[id]
	delete(a.all, id)
	return at
}

// use records what the resource is about to refer to, beside what it may refer to
// still. A content is used only when it was: it is not recorded before.
func (p *pass[K, R]) use() {
	status := p.status()
	for _, t := range p.Refs.Targets() {
		d, ok := observedTarget(t)
		if ok && p.managed() && !t.IsMetadata() && !slices.Contains(status.ObservedDependencies, d) {
			status.ObservedDependencies = append(slices.Clone(status.ObservedDependencies), d)
		}
	}
}

// altered reports whether a resource that serves does so since now, or with
// others than before.
func (r *reconciler[K, R]) altered(p *pass[K, R]) bool {
	before := p.before.GetExternalStatus()
	return p.corrected || !meta.IsStatusConditionTrue(before.Conditions, condition.Available) ||
		!slices.Equal(before.ObservedDependencies, p.status().ObservedDependencies)
}

// alter has everything looked at that the resource refers to, or did until now.
func (r *reconciler[K, R]) alter(p *pass[K, R]) {
	if len(r.kind.Alters) == 0 || !p.managed() {
		return
	}
	all := slices.Concat(p.before.GetExternalStatus().ObservedDependencies, p.status().ObservedDependencies)
	slices.SortFunc(all, compareDependencies)
	now := r.engine.Clock.Now()
	for _, d := range slices.Compact(all) {
		i := slices.IndexFunc(r.kind.Alters, func(gk schema.GroupKind) bool { return gk.Kind == d.Kind })
		if i < 0 {
			continue
		}
		target := object.ID{Group: r.kind.Alters[i].Group, Kind: d.Kind, Namespace: p.id.Namespace, Name: d.Name}
		if r.engine.own(r.kind.Alters[i]) != nil && r.engine.core.Get(target) != nil {
			r.engine.alterations.note(target, now)
			r.engine.core.Requeue(target)
		}
	}
}

func compareDependencies(a, b sharedv1alpha1.ObservedDependency) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
