package external

// A resource that is deleted takes along the resources in it: a resource group its networks, for example
// ([Kind.Within]). The end of the group is recorded for each object below it, so that these objects end without a
// request each. After a restart there is no such record, and the resources are read (cascade.go).

// container is a resource that is gone with all that was in it.
type container struct{ id, cloud string }

// recordEnd records for the objects that a deleted object owns that the resource of their owner is gone.
func (r *reconciler[K, R]) recordEnd(p *pass[K, R], id string) {
	if !r.kind.Cascades {
		return
	}
	for _, owned := range r.engine.core.Owned(p.id) {
		if obj := r.engine.core.Get(owned); obj != nil {
			r.engine.records.noteEnd(r.engine.records.of(owned, obj.GetUID()), container{id, p.cloud})
		}
	}
}

// wentWithOwner reports whether the resource of a deleted object was in a resource that is gone.
func (r *reconciler[K, R]) wentWithOwner(p *pass[K, R]) bool {
	gone, id, cloud := r.engine.records.endOf(p.record), r.knownID(p), ""
	if r.kind.Cloud != nil {
		cloud = r.kind.Cloud(p.status().Place)
	}
	return r.kind.Within != nil && gone.id != "" && gone.cloud == cloud && r.kind.Within(id, gone.id)
}

// noteEnd records that a resource is gone which may have contained the object's resource.
func (s *records) noteEnd(r *record, gone container) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.container = gone
}

// endOf returns what noteEnd has recorded since the object last had a resource created.
func (s *records) endOf(r *record) container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return r.container
}
