package external

import (
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
	owner map[string]map[string]types.UID // by id, then by realm
	taken map[types.UID]claimed
	// deleted are the ids of shared resources whose last user has them deleted. No other
	// object may begin to use such a resource.
	deleted map[string]types.UID
	// left are the objects that end and leave their resource to its other users. A status
	// that an informer shows late makes them no users again.
	left sets.Set[types.UID]
	// waiting are those who asked for what is another's, and wake tells them that it is not
	// any more.
	waiting map[types.UID]wish
	wake    func(object.ID)
}

// claimed is an id where it is unique.
type claimed struct{ realm, id string }

// wish is what an object asked for.
type wish struct {
	id   string
	from object.ID
}

// claim reports whether a resource is an object's from now on.
func (r *reconciler[K, R]) claim(obj K, id string) bool {
	return r.claims.claim(r.claimed(obj, id), obj.GetUID())
}

func (r *reconciler[K, R]) claimed(obj K, id string) claimed {
	var realm string
	switch {
	case r.kind.Shared != nil:
		realm = string(obj.GetUID())
	case r.kind.Realm != nil:
		realm = r.kind.Realm(obj)
	}
	return claimed{realm, id}
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
	c.wait(uid, wish{what.id, from})
	return false
}

// isUsed reports whether another object has a resource of this id. If none has, the
// object that asks is woken when one does.
func (c *claims) isUsed(id string, uid types.UID, from object.ID) bool {
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
	if owner, ok := c.owner[what.id][what.realm]; ok && owner != uid {
		return false
	}
	if by, ok := c.deleted[what.id]; (ok && by != uid) || c.left.Has(uid) {
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
		c.owner, c.taken = map[string]map[string]types.UID{}, map[types.UID]claimed{}
	}
	if c.owner[what.id] == nil {
		c.owner[what.id] = map[string]types.UID{}
	}
	c.owner[what.id][what.realm], c.taken[uid] = uid, what
	c.wakeFor(what.id)
	return true
}

// free reports whether no other object has a resource of this id, in any realm: two
// may be the same one under two names.
func (c *claims) free(id string, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.used(id, uid)
}

func (c *claims) used(id string, but types.UID) bool {
	for _, owner := range c.owner[id] {
		if owner != but {
			return true
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
	if c.used(what.id, uid) {
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
			c.deleted = map[string]types.UID{}
		}
		c.deleted[what.id] = uid
	}
	return false
}

// allowUse ends what leave began, for a resource that could not be deleted: other objects
// may begin to use it.
func (c *claims) allowUse(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.taken[uid].id
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
	delete(c.owner[what.id], what.realm)
	if len(c.owner[what.id]) == 0 {
		delete(c.owner, what.id)
	}
	if c.deleted[what.id] == uid {
		delete(c.deleted, what.id)
	}
	c.wakeFor(what.id)
}

// wakeFor wakes the objects that wait for a resource.
func (c *claims) wakeFor(id string) {
	for uid, wish := range c.waiting {
		if wish.id == id {
			delete(c.waiting, uid)
			c.wake(wish.from)
		}
	}
}
