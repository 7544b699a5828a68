package external

import "k8s.io/utils/ptr"

// Deleting a resource deletes the resources inside ([Kind.Within]), such as the networks of a resource
// group. recordEnd notes the end of the group in record.container of each object below the ResourceGroup,
// so that these objects end without a request each. After a restart record.container is empty, and
// lookFirst reads each resource (cascade.go).

// container is a deleted resource, which contained other resources.
type container struct{ id, cloud string }

// recordEnd notes the end of an owner's resource in record.container of the owned objects.
func (r *reconciler[K, R]) recordEnd(p *pass[K, R], id string) {
	if !r.kind.Cascades {
		return
	}
	for _, owned := range r.engine.core.Owned(p.id) {
		if obj := r.engine.core.Get(owned); obj != nil {
			r.engine.records.of(owned, obj.GetUID()).container.Store(&container{id, p.cloud})
		}
	}
}

// wentWithOwner reports whether the resource of a deleted object was inside the deleted resource of
// record.container.
func (r *reconciler[K, R]) wentWithOwner(p *pass[K, R]) bool {
	gone, id, cloud := p.record.endOf(), r.knownID(p), ""
	if r.kind.Cloud != nil {
		cloud = r.kind.Cloud(p.status().Place)
	}
	return r.kind.Within != nil && gone.id != "" && gone.cloud == cloud && r.kind.Within(id, gone.id)
}

// endOf returns record.container: a deleted resource that may have contained the object's resource. A Create
// for the object resets the field (records.setAttempt).
func (r *record) endOf() container { return ptr.Deref(r.container.Load(), container{}) }
