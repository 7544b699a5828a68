package emulator

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/kinship-dev/kinship/internal/cloud/azure"
)

// resource is a resource of the cloud.
type resource struct {
	id   azure.ID
	kind Type
	// body is the body of the last PUT, without the fields that only ARM writes.
	body map[string]any
	// state is properties.provisioningState.
	state    string
	location string
	guid     string
	created  time.Time
	// mark is the etag of the resource; children share the mark of the outermost resource.
	mark string
	// refs are the ids in the body as written, by their [azure.ID.Key].
	refs map[string]string
	// running is the running operation of the resource, or nil.
	running *operation
}

// store has the resources by [azure.ID.Key], and their children in the order of creation.
type store struct {
	all      map[string]*resource
	children map[string][]*resource
}

func newStore() store {
	return store{all: map[string]*resource{}, children: map[string][]*resource{}}
}

func (s store) get(id azure.ID) *resource { return s.all[id.Key()] }

// in returns the resources that are directly in an id, the oldest first.
func (s store) in(id azure.ID) []*resource { return s.children[id.Key()] }

func (s store) add(r *resource) {
	s.all[r.id.Key()] = r
	parent := r.id.Parent().Key()
	s.children[parent] = append(s.children[parent], r)
}

// remove removes a resource and all resources below it.
func (s store) remove(r *resource) {
	for _, child := range slices.Clone(s.in(r.id)) {
		s.remove(child)
	}
	delete(s.all, r.id.Key())
	delete(s.children, r.id.Key())
	parent := r.id.Parent().Key()
	s.children[parent] = slices.DeleteFunc(s.children[parent], func(one *resource) bool { return one == r })
	if len(s.children[parent]) == 0 {
		delete(s.children, parent)
	}
}

// below returns a resource and all resources below it.
func (s store) below(r *resource) []*resource {
	return s.appendBelow(nil, r)
}

func (s store) appendBelow(all []*resource, r *resource) []*resource {
	all = append(all, r)
	for _, child := range s.in(r.id) {
		all = s.appendBelow(all, child)
	}
	return all
}

// outermost returns the outermost parent of a resource within its resource group, such as the
// virtual network of a subnet.
func (s store) outermost(r *resource) *resource {
	for azure.IsChildType(r.kind.Name, r.id.Parent().Type()) {
		parent := s.get(r.id.Parent())
		if parent == nil {
			break
		}
		r = parent
	}
	return r
}

// touch changes the etag of a resource.
func (s store) touch(r *resource) {
	s.outermost(r).mark = uuid.NewString()
}
