package external

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// claims say which object has which resource. They are fed by every status, and
// taken before a status says so.
type claims struct {
	mu    sync.Mutex
	owner map[string]map[string]types.UID // by id, then by realm
	taken map[types.UID]claimed
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
	if r.kind.Realm != nil {
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
	if c.waiting == nil {
		c.waiting = map[types.UID]wish{}
	}
	c.waiting[uid] = wish{what.id, from}
	return false
}

func (c *claims) take(what claimed, uid types.UID) bool {
	if owner, ok := c.owner[what.id][what.realm]; ok && owner != uid {
		return false
	}
	if before, ok := c.taken[uid]; ok && before != what {
		c.release(uid) // An event that was late may have claimed what it had before.
	}
	if c.owner == nil {
		c.owner, c.taken = map[string]map[string]types.UID{}, map[types.UID]claimed{}
	}
	if c.owner[what.id] == nil {
		c.owner[what.id] = map[string]types.UID{}
	}
	c.owner[what.id][what.realm], c.taken[uid] = uid, what
	delete(c.waiting, uid)
	return true
}

// free reports whether no other object has a resource of this id, in any realm: two
// may be the same one under two names.
func (c *claims) free(id string, uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, owner := range c.owner[id] {
		if owner != uid {
			return false
		}
	}
	return true
}

// of returns the resource that an object has claimed.
func (c *claims) of(uid types.UID) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken[uid].id
}

// drop ends an object's claim, and what it asked for.
func (c *claims) drop(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, uid)
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
	for uid, wish := range c.waiting {
		if wish.id == what.id {
			delete(c.waiting, uid)
			c.wake(wish.from)
		}
	}
}
