package external

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinship-dev/kinship/pkg/object"
)

// Resource is a resource outside, by the kind of objects that stand for such.
type Resource struct {
	Kind schema.GroupKind
	ID   string

	cloud string
}

// occupancy records which objects use which resources, according to the statuses, and
// which deletions wait for the end of a use. Relations can't tell: the object of a port
// whose addresses Neutron chose refers to the network, but the port also keeps the subnet.
type occupancy struct {
	mu    sync.Mutex
	users map[object.ID]occupant
	uses  byResource
	// deletions are the deletions under way, by object. near has the objects of deletions by
	// the resources whose users may block the deletion.
	deletions map[object.ID]*deletion
	near      byResource
}

// occupant has the resources that an object uses. ends says that the object is being deleted.
type occupant struct {
	resources []Resource
	ends      bool
}

// deletion is the deletion of a resource, which is under way.
type deletion struct {
	own Resource
	// used are the resources that own uses. Other users of these may block the deletion: a
	// floating IP blocks the deletion of a router interface of the same router.
	used []Resource
	// refused says that the cloud refused the deletion because the resource was in use. free
	// says that the use may have ended since.
	refused, free bool
}

// set records the resources that an object uses. A deleted object uses none. set returns
// the objects whose deletions should be tried again now.
func (o *occupancy) set(id object.ID, resources []Resource, ends bool) (woken []object.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.users == nil {
		o.users, o.uses = map[object.ID]occupant{}, byResource{}
	}
	before := o.users[id].resources
	if len(resources) > 0 {
		o.users[id] = occupant{resources, ends}
	} else {
		delete(o.users, id)
	}
	for _, r := range resources {
		o.uses.add(r, id)
	}
	for _, r := range before {
		if slices.Contains(resources, r) {
			continue
		}
		o.uses.remove(r, id)
		woken = append(woken, o.release(id, r)...)
	}
	return woken
}

// release returns the objects whose deletions need not wait any longer, after the object id
// stopped using the resource r. Such a deletion is of r, which has no other users; or r is
// used by the deleted resource, and by no other object that is being deleted.
func (o *occupancy) release(id object.ID, r Resource) (woken []object.ID) {
	for waiter := range o.near[r] {
		d := o.deletions[waiter]
		if waiter == id || d.free || o.isHeld(waiter, d, r) {
			continue
		}
		d.free = true
		if d.refused {
			woken = append(woken, waiter)
		}
	}
	slices.SortFunc(woken, object.Compare)
	return woken
}

func (o *occupancy) isHeld(waiter object.ID, d *deletion, r Resource) bool {
	if r == d.own {
		return len(o.uses[r]) > 0
	}
	return slices.ContainsFunc(d.used, func(r Resource) bool { return o.isEnding(r, waiter) })
}

// isEnding reports whether another object uses a resource that is being deleted and does not
// wait for others itself.
func (o *occupancy) isEnding(r Resource, but object.ID) bool {
	for id := range o.uses[r] {
		d := o.deletions[id]
		if id != but && o.users[id].ends && (d == nil || !d.refused) {
			return true
		}
	}
	return false
}

// begin records that the resource of an object is about to be deleted.
func (o *occupancy) begin(id object.ID, own Resource, used []Resource) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(id)
	if o.deletions == nil {
		o.deletions, o.near = map[object.ID]*deletion{}, byResource{}
	}
	o.deletions[id] = &deletion{own: own, used: used}
	for _, r := range append(slices.Clone(used), own) {
		o.near.add(r, id)
	}
}

// refuse records that the resource was in use.
func (o *occupancy) refuse(id object.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if d := o.deletions[id]; d != nil {
		d.refused = true
	}
}

// isFree reports whether what may have been in the way of a deletion has ended since it
// began.
func (o *occupancy) isFree(id object.ID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.deletions[id]
	return d != nil && d.free
}

// end forgets the deletion of an object's resource.
func (o *occupancy) end(id object.ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forget(id)
}

func (o *occupancy) forget(id object.ID) {
	d := o.deletions[id]
	if d == nil {
		return
	}
	delete(o.deletions, id)
	for _, r := range append(slices.Clone(d.used), d.own) {
		o.near.remove(r, id)
	}
}

// byResource are objects by a resource that concerns them.
type byResource map[Resource]sets.Set[object.ID]

func (b byResource) add(r Resource, id object.ID) {
	if b[r] == nil {
		b[r] = sets.Set[object.ID]{}
	}
	b[r].Insert(id)
}

func (b byResource) remove(r Resource, id object.ID) {
	b[r].Delete(id)
	if b[r].Len() == 0 {
		delete(b, r)
	}
}
