package external

import (
	"cmp"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinship-dev/kinship/pkg/object"
)

// claims say which object has which resource. They are fed by every status, and
// taken before a status says so. Where objects share resources, each claims the id in a
// realm of its own: the realms of an id are then the users of the resource.
type claims struct {
	mu    sync.Mutex
	owner map[resourceID]map[string]types.UID // then by realm
	taken map[types.UID]claimed
	// deleted are the ids of shared resources whose last user has them deleted. No other
	// object may begin to use such a resource.
	deleted map[resourceID]types.UID
	// incomplete are the resources that an object has created and not corrected yet. No other
	// object imports such a resource.
	incomplete map[resourceID]types.UID
	// left are the objects that end and leave their resource to its other users. A status
	// that an informer shows late makes them no users again.
	left sets.Set[types.UID]
	// waiting are those who asked for what is another's, and wake tells them that it is not
	// any more.
	waiting map[types.UID]wish
	wake    func(object.ID)
}

// resourceID is an id in a cloud. Ids of different clouds are unrelated: a tenant may run a
// cloud of his own, which answers with the ids of others.
type resourceID struct{ cloud, id string }

// everywhere returns the ids under which the resource may be claimed. A status that another
// operator of the same API wrote records no cloud until the object had a pass.
func (r resourceID) everywhere() [2]resourceID { return [2]resourceID{r, {"", r.id}} }

// claimed is an id where it is unique.
type claimed struct {
	resourceID

	realm string
}

// wish is what an object asked for.
type wish struct {
	resourceID

	from object.ID
}

// claim reports whether a resource is the object's from now on.
func (r *reconciler[K, R]) claim(p *pass[K, R], id string) bool {
	return r.claims.claim(r.claimed(p.cloud, p.Object, id), p.Object.GetUID())
}

// recordedPlace is the place that a status records. Where a kind has no places, the cloud is
// recorded, which a restart needs to know.
func (p *pass[K, R]) recordedPlace() string { return cmp.Or(p.place, p.cloud) }

// cloudOf returns the cloud that the status of an object records.
func (r *reconciler[K, R]) cloudOf(obj K) string {
	if r.kind.Cloud == nil {
		return ""
	}
	return r.kind.Cloud(obj.GetExternalStatus().Place)
}

func (r *reconciler[K, R]) claimed(cloud string, obj K, id string) claimed {
	var realm string
	switch {
	case r.kind.Shared != nil:
		realm = string(obj.GetUID())
	case r.kind.Realm != nil:
		realm = r.kind.Realm(obj)
	}
	return claimed{resourceID{cloud, id}, realm}
}

func (c *claims) claim(what claimed, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(what, uid)
}

// ask is claim; one who is refused is woken when it may be his.
func (c *claims) ask(what claimed, uid types.UID, from object.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.take(what, uid) {
		return true
	}
	c.wait(uid, wish{what.resourceID, from})
	return false
}

// isUsed reports whether another object has a resource of this id. If none has, the
// object that asks is woken when one does.
func (c *claims) isUsed(id resourceID, uid types.UID, from object.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used(id, uid) {
		return true
	}
	c.wait(uid, wish{id, from})
	return false
}

func (c *claims) wait(uid types.UID, w wish) {
	if c.waiting == nil {
		c.waiting = map[types.UID]wish{}
	}
	c.waiting[uid] = w
}

func (c *claims) take(what claimed, uid types.UID) bool {
	for _, id := range what.everywhere() {
		if owner, ok := c.owner[id][what.realm]; ok && owner != uid {
			return false
		}
	}
	if by, ok := c.deleted[what.resourceID]; (ok && by != uid) || c.left.Has(uid) {
		return false
	}
	delete(c.waiting, uid)
	before, had := c.taken[uid]
	if had && before == what {
		return true
	}
	if had {
		c.release(uid) // An event that was late may have claimed what it had before.
	}
	if c.owner == nil {
		c.owner, c.taken = map[resourceID]map[string]types.UID{}, map[types.UID]claimed{}
	}
	if c.owner[what.resourceID] == nil {
		c.owner[what.resourceID] = map[string]types.UID{}
	}
	c.owner[what.resourceID][what.realm], c.taken[uid] = uid, what
	c.wakeFor(what.resourceID)
	return true
}

// begin records that an object has yet to complete the resource that it has just created.
func (c *claims) begin(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.incomplete == nil {
		c.incomplete = map[resourceID]types.UID{}
	}
	c.incomplete[c.taken[uid].resourceID] = uid
}

// complete ends what begin began, and wakes the objects that import the resource.
func (c *claims) complete(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if id := c.taken[uid].resourceID; c.incomplete[id] == uid {
		delete(c.incomplete, id)
		c.wakeFor(id)
	}
}

// awaitComplete returns the uid of the other object that has yet to complete a resource, or "".
// The object that asks is woken when the resource is complete.
func (c *claims) awaitComplete(id resourceID, uid types.UID, from object.ID) types.UID {
	c.mu.Lock()
	defer c.mu.Unlock()
	creator := c.incomplete[id]
	if creator == "" || creator == uid {
		return ""
	}
	c.wait(uid, wish{id, from})
	return creator
}

// free reports whether no other object has a resource of this id, in any realm: two
// may be the same one under two names.
func (c *claims) free(id resourceID, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.used(id, uid)
}

func (c *claims) used(id resourceID, but types.UID) bool {
	for _, id := range id.everywhere() {
		for _, owner := range c.owner[id] {
			if owner != but {
				return true
			}
		}
	}
	return false
}

// of returns the resource that an object has claimed.
func (c *claims) of(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken[uid].id
}

// leave ends the claim of a deleted object on a shared resource, and returns true, if the
// resource has other users. Otherwise leave returns false: the object has the resource
// deleted, and no other object may begin to use the resource.
func (c *claims) leave(what claimed, uid types.UID) (left bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used(what.resourceID, uid) {
		c.release(uid)
		if c.left == nil {
			c.left = sets.Set[types.UID]{}
		}
		c.left.Insert(uid)
		return true
	}
	c.left.Delete(uid)
	if c.take(what, uid) {
		if c.deleted == nil {
			c.deleted = map[resourceID]types.UID{}
		}
		c.deleted[what.resourceID] = uid
	}
	return false
}

// allowUse ends what leave began, for a resource that could not be deleted: other objects
// may begin to use it.
func (c *claims) allowUse(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.taken[uid].resourceID
	if c.deleted[id] == uid {
		delete(c.deleted, id)
		c.wakeFor(id)
	}
}

// drop ends an object's claim, and what it asked for.
func (c *claims) drop(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, uid)
	c.left.Delete(uid)
	c.release(uid)
}

func (c *claims) release(uid types.UID) {
	what, ok := c.taken[uid]
	if !ok {
		return
	}
	delete(c.taken, uid)
	delete(c.owner[what.resourceID], what.realm)
	if len(c.owner[what.resourceID]) == 0 {
		delete(c.owner, what.resourceID)
	}
	if c.deleted[what.resourceID] == uid {
		delete(c.deleted, what.resourceID)
	}
	if c.incomplete[what.resourceID] == uid {
		delete(c.incomplete, what.resourceID)
	}
	c.wakeFor(what.resourceID)
}

// wakeFor wakes the objects that wait for a resource.
func (c *claims) wakeFor(id resourceID) {
	for uid, wish := range c.waiting {
		if wish.resourceID == id {
			delete(c.waiting, uid)
			c.wake(wish.from)
		}
	}
}
