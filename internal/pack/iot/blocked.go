package iot

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kinship-dev/kinship/pkg/object"
)

// blocked knows which connectors wait until an object is gone: somebody else's, or
// one of theirs that is being deleted. Owner references don't always lead from the
// one to the other, and can be taken off.
type blocked struct {
	mu sync.Mutex
	by map[types.NamespacedName][]object.ID
}

// set says what a connector waits for.
func (b *blocked) set(connector types.NamespacedName, ids []object.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(ids) == 0 {
		delete(b.by, connector)
		return
	}
	if b.by == nil {
		b.by = map[types.NamespacedName][]object.ID{}
	}
	b.by[connector] = ids
}

// waiting returns the connectors that wait for an object.
func (b *blocked) waiting(id object.ID) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	var connectors []types.NamespacedName
	for connector, ids := range b.by {
		for _, other := range ids {
			if other == id {
				connectors = append(connectors, connector)
			}
		}
	}
	return connectors
}
