package usage

import (
	"slices"

	"github.com/kinship-dev/kinship/pkg/relation"
	"github.com/kinship-dev/kinship/pkg/watch"
)

// usageChanged updates the edges of a Usage, and starts a pass unless the event shows nothing
// but an own write. Two own writes start a pass, too: the write that gives the Usage its first
// edges, because lockUsed waits for these edges, and a record that a webhook added to
// status.refused, because deleteUsingFirst works on the records of the namespace controller.
func (p *parts) usageChanged(c watch.Change[usage]) {
	id := identify(c.Object())
	before := p.ledger.Declared.Declared(id)
	p.ledger.Update(id)
	now := p.ledger.Declared.Declared(id)
	if c.Created() || c.Deleted() || p.writes.Concerns(id, c.Old, c.New) ||
		(len(before) == 0 && len(now) > 0) || hasNewRecord(c.Old.UsageStatus(), c.New.UsageStatus()) {
		p.usages.Add(id)
	}
}

// grantsChanged updates the Usages that name an object of another namespace.
func (p *parts) grantsChanged() {
	for _, u := range p.store.all() {
		if reachesOut(u) {
			p.ledger.Update(identify(u))
			p.ledger.Declarer(identify(u))
		}
	}
}

// reconcileAll starts a pass of every Usage.
func (p *parts) reconcileAll() {
	for _, id := range p.store.ids() {
		p.usages.Add(id)
	}
}

// unread reports whether a Usage exists that no informer can read.
func (p *parts) unread() bool {
	return slices.ContainsFunc(kinds, func(k kind) bool { return p.env.Health.Unreadable(k.GroupKind()) > 0 })
}

// lockRemoved records an event when the lock of an object in use was removed. The lock controller
// adds the lock again.
func (p *parts) lockRemoved(c relation.Change) {
	if c.Old == nil || c.New == nil || !p.locks.Running() || !p.lock.On(*c.Old) || p.lock.On(*c.New) ||
		p.ledger.Hold(*c.New) != relation.Held {
		return
	}
	mapping, err := p.env.Watcher.Mapping(c.New.ID.GroupKind().WithVersion(""))
	if err != nil {
		return
	}
	ref := referenceTo(mapping.Resource.GroupVersion().String(), c.New.ID)
	ref.UID = c.New.UID
	p.mgr.GetEventRecorder(fieldOwner).Eventf(ref, nil, "Warning", "LockRestored", "Protect",
		"label %s was removed while the object is in use; it is put back", lockLabel)
}
