package relation

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinship-dev/kinship/pkg/object"
)

// place is where a selector looks for objects: a kind in a namespace, or in all namespaces if namespace is empty.
type place struct {
	schema.GroupKind

	namespace string
}

// placesOf returns the places in which selectors may select an object.
func placesOf(id object.ID) []place {
	everywhere := place{GroupKind: id.GroupKind()}
	if id.Namespace == "" {
		return []place{everywhere}
	}
	return []place{{GroupKind: id.GroupKind(), namespace: id.Namespace}, everywhere}
}

// selection is a selector at the end of edges, and these edges. Edges with equal selectors share a selection: an
// object is matched once for 300 Usages of the same selector.
type selection struct {
	ref   Ref
	edges edgeSet

	// mu guards the fields below. They remember whether the selector selects any object, so that Force needs no
	// list for each edge.
	mu     sync.Mutex
	empty  bool      // the selector selects no object
	member object.ID // an object that was selected when Force last looked, or zero
	news   uint64    // number of changes before or after which the selector selected the changed object

	// exits are remembered for a selector of targets.
	exits exits
}

// observe records the change of an object: an empty selection may have a member now.
func (s *selection) observe(c Change) {
	isMember := c.New != nil && s.ref.Matches(*c.New)
	if !isMember && (c.Old == nil || !s.ref.Matches(*c.Old)) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.news++
	if s.empty && isMember {
		s.empty, s.member = false, c.New.ID
	}
}

// recall returns the fields of a selection.
func (s *selection) recall() (member object.ID, empty bool, news uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.member, s.empty, s.news
}

// learn records the answer of anyOf. An answer "none" is dropped if observe was called with a member since
// recall returned news: the answer may be older than the member.
func (s *selection) learn(member object.ID, found bool, news uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found || s.news == news {
		s.member, s.empty = member, !found
	}
}

// selected decides whether a selection has a member. selected asks Exists only if the remembered member is no
// member any more.
func (f Force) selected(s *selection) Hold {
	if !f.Exists.Ready(s.ref.GroupKind()) {
		return Undecided
	}
	member, empty, news := s.recall()
	if empty {
		return Free
	}
	if !member.IsZero() {
		if obj, presence := f.Exists.Get(member); presence == Present && s.ref.Matches(obj) {
			return Held
		}
	}
	member, found, known := f.anyOf(s.ref, func(Object) bool { return true })
	if !known {
		return Undecided
	}
	s.learn(member, found, news)
	if found {
		return Held
	}
	return Free
}

// hasOlder reports whether a selection has a member other than a changed object whose own last change came before the
// change of the object. So the selection was not empty before the change of the object either.
func (f Force) hasOlder(s *selection, changed Object) bool {
	isOlder := func(obj Object) bool { return obj.ID != changed.ID && object.Older(obj.Version, changed.Version) }
	member, _, news := s.recall()
	if obj, presence := f.Exists.Get(member); presence == Present && s.ref.Matches(obj) && isOlder(obj) {
		return true
	}
	member, found, _ := f.anyOf(s.ref, isOlder)
	if found {
		s.learn(member, true, news)
	}
	return found
}
